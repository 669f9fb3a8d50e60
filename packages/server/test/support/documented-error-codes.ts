// Reads the error codes that the published OpenAPI document lists for each operation.
import assert from 'node:assert/strict';
import type { Answer, Client } from './https-client.ts';

type Json = Record<string, unknown>;
type Operation = { method: string; form: RegExp; codes: ReadonlySet<string>; name: string };

export type Documented = {
  /** Asserts that the document lists the error code for the operation. */
  assertCode(method: string, path: string, answer: Answer): void;
};

const at = (value: unknown, ...names: string[]): unknown =>
  names.reduce<unknown>((part, name) => (part as Json | undefined)?.[name], value);

function resolved(document: Json, part: unknown): unknown {
  const ref = at(part, '$ref');
  return typeof ref === 'string' ? at(document, ...ref.slice(2).split('/')) : part;
}

/** The error codes that the document lists for an operation. */
export function codesOf(document: Json, operation: unknown): Set<string> {
  const codes = new Set<string>();
  for (const response of Object.values(at(operation, 'responses') as Json)) {
    const media = at(resolved(document, response), 'content', 'application/problem+json');
    const parts = at(media, 'schema', 'allOf');
    for (const part of Array.isArray(parts) ? parts : []) {
      const words = at(part, 'properties', 'code', 'enum');
      for (const code of Array.isArray(words) ? words : []) codes.add(String(code));
    }
  }
  return codes;
}

/** The server returns these codes before it has found an operation. */
const ofPaths = new Set(['route_not_found', 'method_not_allowed', 'request_malformed']);

export async function documented(client: Client): Promise<Documented> {
  const { body: document } = await client.call('GET', '/openapi.json');
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths as Json)) {
    const form = new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]*')}$`);
    for (const [method, operation] of Object.entries(methods as Json)) {
      const codes = codesOf(document, operation);
      operations.push({ method: method.toUpperCase(), form, codes, name: `${method} ${path}` });
    }
  }
  // If several paths match, the server routes to the path with the fewest parameters.
  operations.sort((a, b) => a.name.split('{').length - b.name.split('{').length);
  return {
    assertCode(method, path, { body }) {
      if (ofPaths.has(body.code)) return;
      const pure = path.split('?', 1)[0] ?? '';
      const found = operations.find((each) => each.method === method && each.form.test(pure));
      assert.ok(found, `${method} ${path} is not documented`);
      assert.ok(found.codes.has(body.code), `${found.name} is not documented to give ${body.code}`);
    },
  };
}
