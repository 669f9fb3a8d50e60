// Counts the changes made in this process, so that cached verdicts know when to look again at once.

export type Revision = { current(): number; bump(): void };

export function createRevision(): Revision {
  let count = 0;
  return {
    current: () => count,
    bump() {
      count += 1;
    },
  };
}
