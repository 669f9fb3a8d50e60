// Counts the changes made in this process, so that cached verdicts know when to look again at once.

export type ChangeCounter = { current(): number; bump(): void };

export function createChangeCounter(): ChangeCounter {
  let count = 0;
  return {
    current: () => count,
    bump() {
      count += 1;
    },
  };
}
