// Reads the error codes that the published OpenAPI document lists for each operation.
import assert from 'node:assert/strict';
import type { Client, HttpResponse } from './https-client.ts';

type Json = Record<string, unknown>;
type Operation = { method: string; form: RegExp; codes: ReadonlySet<string>; name: string };

export type DocumentedErrorCodes = {
  /** Asserts that the document lists the error code for the operation. */
  assertCode(method: string, path: string, answer: HttpResponse): void;
};

const memberAt = (value: unknown, ...names: string[]): unknown =>
  names.reduce<unknown>((part, name) => (part as Json | undefined)?.[name], value);

function resolveReference(document: Json, part: unknown): unknown {
  const ref = memberAt(part, '$ref');
  return typeof ref === 'string' ? memberAt(document, ...ref.slice(2).split('/')) : part;
}

/** The error codes that the document lists for an operation. */
export function errorCodesOf(document: Json, operation: unknown): Set<string> {
  const codes = new Set<string>();
  for (const response of Object.values(memberAt(operation, 'responses') as Json)) {
    const media = memberAt(
      resolveReference(document, response),
      'content',
      'application/problem+json',
    );
    const parts = memberAt(media, 'schema', 'allOf');
    for (const part of Array.isArray(parts) ? parts : []) {
      const codeNames = memberAt(part, 'properties', 'code', 'enum');
      for (const code of Array.isArray(codeNames) ? codeNames : []) codes.add(String(code));
    }
  }
  return codes;
}

/** The server returns these codes before it has found an operation. */
const codesWithoutOperation = new Set([
  'route_not_found',
  'method_not_allowed',
  'request_malformed',
]);

export async function readDocumentedErrorCodes(client: Client): Promise<DocumentedErrorCodes> {
  const { body: document } = await client.call('GET', '/openapi.json');
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths as Json)) {
    const pathPattern = new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]*')}$`);
    for (const [method, operation] of Object.entries(methods as Json)) {
      const codes = errorCodesOf(document, operation);
      operations.push({
        method: method.toUpperCase(),
        form: pathPattern,
        codes,
        name: `${method} ${path}`,
      });
    }
  }
  // If several paths match, the server routes to the path with the fewest parameters.
  operations.sort((a, b) => a.name.split('{').length - b.name.split('{').length);
  return {
    assertCode(method, path, { body }) {
      if (codesWithoutOperation.has(body.code)) return;
      const pathWithoutQuery = path.split('?', 1)[0] ?? '';
      const operation = operations.find(
        (each) => each.method === method && each.form.test(pathWithoutQuery),
      );
      assert.ok(operation, `${method} ${path} is not documented`);
      assert.ok(
        operation.codes.has(body.code),
        `${operation.name} is not documented to give ${body.code}`,
      );
    },
  };
}
