// Parses bodies of HTML forms: UTF-8 names and values, each name once.
import { ProblemError } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';

/** A form holds a password or a passkey response; both are far shorter. */
export const formLimitBytes = 16_384;
const maxFields = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

function malformed(detail: string): never {
  throw new ProblemError('request_malformed', detail);
}

function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return malformed('The form has an invalid percent encoding.');
  }
}

/** @throws ProblemError when a name comes twice, because it is unclear which value applies */
export function parseForm(body: Buffer): Record<string, string> {
  let text: string;
  try {
    text = decoder.decode(body);
  } catch {
    return malformed('The form is not valid UTF-8.');
  }
  const pairs = text === '' ? [] : text.split('&', maxFields + 1);
  if (pairs.length > maxFields) malformed(`The form has more than ${maxFields} fields.`);
  // Without a prototype, since a client chooses the names.
  const fields: Record<string, string> = Object.create(null);
  for (const pair of pairs) {
    const end = pair.indexOf('=');
    const name = decodeFormText(end === -1 ? pair : pair.slice(0, end));
    const value = end === -1 ? '' : decodeFormText(pair.slice(end + 1));
    if (name in fields) malformed('The form has the same field twice.');
    if (name.includes('\0') || value.includes('\0'))
      malformed('The form contains the character U+0000.');
    fields[name] = value;
  }
  return fields;
}

/** Makes the routes of a Fastify scope accept form bodies only. */
export function acceptFormBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer', bodyLimit: formLimitBytes },
    (_request, body, done) => {
      try {
        done(null, parseForm(body as Buffer));
      } catch (error) {
        done(error as ProblemError);
      }
    },
  );
}
