// Parses the filters by the attributes that payments share, for searches and summaries.

export type GroupFilters = {
  readonly kind?: string | undefined;
  readonly scheme?: readonly string[] | undefined;
  readonly currency?: readonly string[] | undefined;
  readonly responseCategory?: readonly string[] | undefined;
  readonly entryMode?: readonly string[] | undefined;
  readonly state?: readonly string[] | undefined;
};

export type GroupFilterQuery = {
  readonly kind?: string;
  readonly scheme?: string;
  readonly currency?: string;
  readonly responseCategory?: string;
  readonly entryMode?: string;
  readonly state?: string;
};

const splitList = (text: string | undefined): readonly string[] | undefined =>
  text === undefined ? undefined : [...new Set(text.split(','))];

export const parseGroupFilters = (query: GroupFilterQuery): GroupFilters => ({
  kind: query.kind,
  scheme: splitList(query.scheme),
  currency: splitList(query.currency),
  responseCategory: splitList(query.responseCategory),
  entryMode: splitList(query.entryMode),
  state: splitList(query.state),
});

export const hasGroupFilters = (filters: GroupFilters): boolean =>
  Object.values(filters).some((value) => value !== undefined);
