/** Builds the options of filters and other selections. */
export type Option = { readonly value: string; readonly label: string };

/** The values as options with their translated labels: `statuses.Enabled`. */
export const translatedOptions = (
  t: (key: string) => string,
  keyPrefix: string,
  values: readonly string[],
): Option[] => values.map((value) => ({ value, label: t(`${keyPrefix}.${value}`) }));

/** Names by ID, of merchants for example, as options. */
export const nameOptions = (names: ReadonlyMap<string, string> | undefined): Option[] =>
  [...(names ?? [])].map(([value, label]) => ({ value, label }));

/** Values that are their own labels. */
export const plainOptions = (values: readonly string[]): Option[] =>
  values.map((value) => ({ value, label: value }));
