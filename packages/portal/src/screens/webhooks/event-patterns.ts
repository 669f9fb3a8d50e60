/** Which events an endpoint is told of: all, families, or single types. */

/** `transaction.captured` is of the family `transaction.*`. */
export const familyOf = (type: string): string => `${type.slice(0, type.indexOf('.'))}.*`;

export type PatternGroup = { readonly group: string; readonly items: readonly string[] };

/** The family first, and what it holds after it. */
export function patternGroups(types: readonly string[]): PatternGroup[] {
  const families = Map.groupBy(types, familyOf);
  return [...families].map(([family, members]) => ({
    group: family.slice(0, -2),
    items: [family, ...members],
  }));
}

/** A family stands for its members: whoever chooses it need not name them. */
export function withoutCovered(patterns: readonly string[]): string[] {
  return patterns.filter((each) => each.endsWith('.*') || !patterns.includes(familyOf(each)));
}
