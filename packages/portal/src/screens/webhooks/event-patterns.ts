/** Event type patterns of an endpoint: all, groups or single types. */

/** `transaction.captured` belongs to `transaction.*`. */
export const familyPattern = (type: string): string => `${type.slice(0, type.indexOf('.'))}.*`;

export type PatternGroup = { readonly group: string; readonly items: readonly string[] };

/** Each group pattern, followed by its event types. */
export function patternGroups(types: readonly string[]): PatternGroup[] {
  const families = Map.groupBy(types, familyPattern);
  return [...families].map(([family, members]) => ({
    group: family.slice(0, -2),
    items: [family, ...members],
  }));
}

/** Removes types that a chosen group pattern includes. */
export function removeCoveredTypes(patterns: readonly string[]): string[] {
  return patterns.filter((each) => each.endsWith('.*') || !patterns.includes(familyPattern(each)));
}
