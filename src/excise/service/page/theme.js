// Runs before the page is drawn, so that a chosen theme does not flash. Without a choice the system's own holds.
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem("excise-theme");
    } catch {
      return null; // storage may be forbidden; the choice then lasts as long as the page
    }
  };
  const chosen = read();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      try {
        localStorage.setItem("excise-theme", root.dataset.theme);
      } catch {
        // see above
      }
      label();
    });
    system.addEventListener("change", label);
    label();
  });
})();
