/** The estate as both sides of a comparison have it: things with keys, below each other. */

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };
export type Members = Readonly<Record<string, Json>>;

export const kindNames = [
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

export type KindName = (typeof kindNames)[number];

export type Thing = {
  readonly kind: KindName;
  /** Tells it from its siblings: what stands below the same thing and is of the same kind. */
  readonly key: string;
  /** undefined: it stands below the organisation itself. */
  readonly parent: Thing | undefined;
  /** As the file spells them: defaults left out, others named by their keys. */
  readonly members: Members;
  /** Of the server; in a file only where nothing better identifies it. */
  readonly id?: string;
  /** Where it stands in the file. */
  readonly at?: readonly (string | number)[];
};

/** One organisation with all that is its own; organisations below have estates of their own. */
export type Estate = {
  readonly organization: Thing;
  readonly things: readonly Thing[];
  readonly below: readonly Estate[];
  /** Only these merchants; undefined: all of it. */
  readonly only?: readonly string[];
  /** What the file speaks of; the rest is left alone. */
  readonly managed: ReadonlySet<KindName>;
};

/** `lumiere/canal/Counter 1`: the keys from the top. */
export function pathOf({ key, parent }: Thing): string {
  return parent === undefined ? key : `${pathOf(parent)}/${key}`;
}

/** How people read it. */
export const nameOf = (thing: Thing): string => `${thing.kind} ${pathOf(thing)}`;

export const isObject = (value: unknown): value is { readonly [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** By code units, so that the order is the same on every machine. */
export const byText = (one: string, other: string): number =>
  one < other ? -1 : one > other ? 1 : 0;

/** One spelling for equal values: members sorted, undefined left out. */
export function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const members = Object.entries(value).sort(([one], [other]) => byText(one, other));
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]));
}

export const same = (one: Json | undefined, other: Json | undefined): boolean =>
  JSON.stringify(one === undefined ? undefined : sorted(one)) ===
  JSON.stringify(other === undefined ? undefined : sorted(other));

/**
 * Keys that are told apart: of several with one key the second is `key~2`, in the order in which they
 * come, which on the server is the order of their making.
 */
export function createKeys(): (parent: Thing | undefined, kind: KindName, key: string) => string {
  const taken = new Map<Thing | undefined, Set<string>>();
  return (parent, kind, key) => {
    const known = taken.get(parent) ?? new Set<string>();
    taken.set(parent, known);
    for (let count = 1; ; count += 1) {
      const next = count === 1 ? key : `${key}~${count}`;
      if (known.has(`${kind} ${next}`)) continue;
      known.add(`${kind} ${next}`);
      return next;
    }
  };
}
