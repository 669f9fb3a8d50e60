/** The model of an estate: resources with keys in a tree. The file and the server are read into it. */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };
export type Members = Readonly<Record<string, Json>>;

export const resourceKinds = [
  'organization',
  'acquirerLink',
  'merchant',
  'acquirerContract',
  'store',
  'physicalDevice',
  'logicalDevice',
  'pointOfSale',
  'user',
  'application',
  'service',
  'package',
  'subscription',
  'activation',
  'configuration',
] as const;

export type ResourceKind = (typeof resourceKinds)[number];

export type Resource = {
  readonly kind: ResourceKind;
  /** Unique among the resources of the same kind below the same parent. */
  readonly key: string;
  /** undefined for a resource directly below the organisation. */
  readonly parent: Resource | undefined;
  /** As in the file: without defaults, and with references by key. */
  readonly members: Members;
  /** The id on the server; in a file only for resources without a better identifier. */
  readonly id?: string;
  /** The path in the file. */
  readonly at?: readonly (string | number)[];
};

/** One organisation with its resources; organisations below have estates of their own. */
export type Estate = {
  readonly organization: Resource;
  readonly resources: readonly Resource[];
  readonly subOrganizations: readonly Estate[];
  /** The keys of the only merchants in it; undefined for all. */
  readonly only?: readonly string[];
  /** The kinds that the file manages; an import does not change other kinds. */
  readonly managed: ReadonlySet<ResourceKind>;
};

/** `lumiere/canal/Counter 1`: the keys from the top. */
export function resourcePath({ key, parent }: Resource): string {
  return parent === undefined ? key : `${resourcePath(parent)}/${key}`;
}

export const resourceLabel = (resource: Resource): string =>
  `${resource.kind} ${resourcePath(resource)}`;

export const isObject = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** By code units, so that the order is the same on every machine. */
export const compareText = (one: string, other: string): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** Sorts the members, so that equal values have equal JSON. */
export function sortMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([one], [other]) => compareText(one, other));
  return Object.fromEntries(members.map(([name, member]) => [name, sortMembers(member)]));
}

export const isEqualJson = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one === undefined ? undefined : sortMembers(one)) ===
  JSON.stringify(other === undefined ? undefined : sortMembers(other));

/**
 * Makes keys unique: the second resource with a key gets `key~2`, in the given order. The server lists
 * resources in the order of their creation.
 */
export function createUniqueKeys(): (
  parent: Resource | undefined,
  kind: ResourceKind,
  key: string,
) => string {
  const usedKeys = new Map<Resource | undefined, Set<string>>();
  return (parent, kind, key) => {
    const siblings = usedKeys.get(parent) ?? new Set<string>();
    usedKeys.set(parent, siblings);
    for (let count = 1; ; count += 1) {
      const next = count === 1 ? key : `${key}~${count}`;
      if (siblings.has(`${kind} ${next}`)) continue;
      siblings.add(`${kind} ${next}`);
      return next;
    }
  };
}
