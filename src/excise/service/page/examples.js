/** Queries over the bundled corpus, each for one thing that exclusion does. tests/web holds that they do it. */
export const EXAMPLES = [
  { q: "electric cars, but not Tesla", says: "A name. What covers it goes, and others move up." },
  { q: "jazz saxophonists other than Coltrane", says: "No title names him. The passages do." },
  { q: "family dogs that are neither herding breeds nor giants", says: "Two topics at once." },
  { q: "espresso-free coffee brewing ideas", says: "No “not” at all: the exclusion is half a word." },
  {
    q: "We did the via ferrata last year; what hiking in the Alps should come next?",
    says: "Said the way people say it.",
  },
  { q: "mechanical keyboards that are not clicky", says: "What is doubtful moves down. Less caution removes it." },
  { q: "antibiotics other than penicillin", says: "Cheese names the mould, too: doubtful, it only moves down." },
  { q: "not only Tesla: electric cars", says: "A “not” that excludes nothing, and removes nothing." },
];
