/**
 * From an answer to what the page shows: the ranking before, and where each of its documents is now.
 *
 * Rows are {id, title, text, score, frozenRank, probability, passage, status, rank}. Of a judged answer the page knows every
 * candidate, so that a document that the reader put back takes the place that its score gives it.
 */
export function arrange(answer, opinions, k) {
  const rows = judged(answer, opinions);
  const present = rows.filter((row) => row.status !== "removed" && row.status !== "by hand");
  present.sort((one, other) => other.score - one.score || one.frozenRank - other.frozenRank);
  present.forEach((row, place) => {
    row.rank = place + 1;
  });
  const ranking = present.filter((row) => row.rank <= k || row.status === "put back");
  const shown = new Set(ranking);
  const lower = present.filter((row) => !shown.has(row) && row.frozenRank <= k);
  const removed = rows.filter((row) => row.status === "removed" || row.status === "by hand");
  removed.sort((one, other) => one.frozenRank - other.frozenRank);
  const fates = new Map([
    ...ranking.map((row) => [row.id, "kept"]),
    ...lower.map((row) => [row.id, "lower"]),
    ...removed.map((row) => [row.id, "removed"]),
  ]);
  const before = (answer.frozen ?? []).map((row) => ({ ...row, fate: fates.get(row.id) ?? "gone" }));
  return { before, ranking, lower, removed };
}

function judged(answer, opinions) {
  const texts = new Map(answer.hits.map((hit) => [hit.id, hit.text]));
  const candidates = answer.explanation?.candidates ?? [
    ...answer.hits,
    ...answer.removed.map((row) => ({ ...row, status: "removed" })),
  ];
  return candidates.map((row) => ({
    id: row.id,
    title: row.title || row.id,
    text: texts.get(row.id) ?? null,
    score: row.score,
    frozenRank: row.frozen_rank,
    probability: row.probability ?? null,
    passage: row.passage ?? null,
    status: changed(row.status, opinions.get(row.id)),
  }));
}

function changed(status, opinion) {
  if (opinion === "put_back" && status === "removed") return "put back";
  if (opinion === "remove" && status !== "removed") return "by hand";
  return status;
}
