// Checks that linters of OpenAPI and AsyncAPI documents make, for the documents of the platform.
import assert from 'node:assert/strict';

type Json = Readonly<Record<string, unknown>>;
type Security = readonly Json[];
export type LintedOperation = { readonly operationId: string; readonly security?: Security };
type PathItems = Readonly<Record<string, Readonly<Record<string, LintedOperation>>>>;

export type LintedDocument = {
  readonly info: { readonly contact?: Json; readonly license?: Json };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly security?: Security;
  readonly paths: PathItems;
  readonly webhooks?: PathItems;
  readonly components: { readonly [kind: string]: Json | undefined };
};

const isVariable = (segment: string): boolean => /^\{.+\}$/.test(segment);

/** OpenAPI prefers the path that has fixed segments wherever the other one has them. */
function isMoreSpecific(one: readonly string[], other: readonly string[]): boolean {
  return one.every((segment, index) => !isVariable(segment) || isVariable(other[index] ?? ''));
}

/** Pairs of paths that one address matches, of which OpenAPI prefers none. */
export function findAmbiguousPaths(paths: readonly string[]): [string, string][] {
  return paths.flatMap((path, index) =>
    paths.slice(index + 1).flatMap((other): [string, string][] => {
      const [one, two] = [path.split('/'), other.split('/')];
      const matchesBoth =
        one.length === two.length &&
        one.every((segment, at) => {
          const opposite = two[at] ?? '';
          return segment === opposite || isVariable(segment) || isVariable(opposite);
        });
      const isUndecided = isMoreSpecific(one, two) === isMoreSpecific(two, one);
      return matchesBoth && isUndecided ? [[path, other]] : [];
    }),
  );
}

/** Every pattern means the same without the flag `u`, which many tools do not set. */
export function checkPatterns(document: unknown): void {
  assert.doesNotMatch(JSON.stringify(document), /"pattern":"[^"]*\\\\p\{/);
}

/** Every component is referred to; the security schemes are named. */
export function checkUsedComponents(document: unknown, kinds: readonly string[]): void {
  const text = JSON.stringify(document);
  const { components } = document as { components: Json };
  for (const kind of kinds) {
    for (const name of Object.keys((components[kind] ?? {}) as Json)) {
      const pointer = `#/components/${kind}/${name}`;
      assert.ok(text.includes(`"${pointer}"`), `${pointer} is not used`);
    }
  }
}

/** A contact, described tags, paths without ambiguity, and operations whose security is defined. */
export function checkLintRules(document: LintedDocument): void {
  const { info, tags, paths, webhooks, components, security } = document;
  assert.equal(typeof info.contact?.['name'], 'string');
  assert.equal(typeof info.license?.['name'], 'string');
  assert.ok(tags.length > 0);
  for (const { name, description } of tags) assert.ok(description !== undefined, name);
  assert.deepEqual(findAmbiguousPaths(Object.keys(paths)), []);
  const operations = Object.values({ ...paths, ...webhooks }).flatMap((item) =>
    Object.values(item),
  );
  for (const { operationId, security: own } of operations) {
    const required = own ?? security;
    // An empty list says that the operation is public.
    assert.ok(required !== undefined, `${operationId} says nothing of security`);
    for (const scheme of required.flatMap((one) => Object.keys(one))) {
      const schemes = components['securitySchemes'] ?? {};
      assert.ok(Object.hasOwn(schemes, scheme), `${operationId} names ${scheme}`);
    }
  }
  checkPatterns(document);
  checkUsedComponents(document, ['schemas', 'responses', 'headers', 'parameters']);
}
