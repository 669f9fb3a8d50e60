// Reads the form of a page: names and values as text, each name once, in good UTF-8.
import { Refusal } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';

/** A page's form holds a password or a passkey's answer; nothing of ours comes near this. */
export const formLimitBytes = 16_384;
const maxFields = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

function malformed(detail: string): never {
  throw new Refusal('request_malformed', detail);
}

function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return malformed('The form is not well encoded.');
  }
}

/** @throws Refusal where a name comes twice: which of the two was meant nobody can tell */
export function parseForm(body: Buffer): Record<string, string> {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    return malformed('The form is not UTF-8.');
  }
  const pairs = text === '' ? [] : text.split('&', maxFields + 1);
  if (pairs.length > maxFields) malformed(`A form has at most ${maxFields} fields.`);
  // Without a prototype: a field may be called anything.
  const fields: Record<string, string> = Object.create(null);
  for (const pair of pairs) {
    const end = pair.indexOf('=');
    const name = decodeFormText(end === -1 ? pair : pair.slice(0, end));
    const value = end === -1 ? '' : decodeFormText(pair.slice(end + 1));
    if (name in fields) malformed('A field of the form is there twice.');
    if (name.includes('\0') || value.includes('\0')) malformed('The form holds U+0000.');
    fields[name] = value;
  }
  return fields;
}

/** Makes a scope read forms, and nothing but forms. */
export function acceptFormBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: formLimitBytes },
    (_request, body, done) => {
      try {
        done(null, parseForm(body as Buffer));
      } catch (error) {
        done(error as Refusal);
      }
    },
  );
}
