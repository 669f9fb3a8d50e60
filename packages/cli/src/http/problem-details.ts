/** Turns an error response into a CommandError with a message and an exit code. */

import { isObject } from '@switchyard/contract';
import { CommandError } from '../runtime/command-error.ts';
import type { ExitName } from '../runtime/exit-codes.ts';
import type { HttpResponse } from './https-transport.ts';

export type Members = Readonly<Record<string, unknown>>;

export const membersOf = (value: unknown): Members => (isObject(value) ? value : {});

/** The objects of a list; empty if the value is not a list. */
export const listOf = (value: unknown): Members[] =>
  Array.isArray(value) ? value.map(membersOf) : [];

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

const maxLines = 20;
const maxChars = 300;

const exitNamesByStatus: Readonly<Record<number, ExitName>> = {
  401: 'notSignedIn',
  403: 'notPermitted',
  404: 'notFound',
  429: 'unreachable',
  502: 'unreachable',
  503: 'unreachable',
  504: 'unreachable',
};

export function exitNameOfStatus(status: number): ExitName {
  return exitNamesByStatus[status] ?? (status >= 500 || status < 400 ? 'fault' : 'refused');
}

/** undefined if the bytes are not JSON. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function errorLines(problem: Members): string[] {
  const lines = listOf(problem['errors']).map(
    ({ pointer, detail, code }) => `${pointer || '/'}  ${detail} (${code})`,
  );
  const rest = lines.length - maxLines;
  return rest > 0 ? [...lines.slice(0, maxLines), `… and ${rest} more`] : lines;
}

/** The resources that prevent a deletion. */
function dependantLines(problem: Members): string[] {
  return listOf(problem['dependants'])
    .slice(0, maxLines)
    .map(({ type, name, id }) => `${type}  ${name}  ${id}`);
}

/** The members of a problem document that `--json` and the reports of imports show. */
export function problemFacts({ status, body }: HttpResponse): Record<string, unknown> {
  const problem = membersOf(parseJson(body));
  const names = ['code', 'requestId', 'errors', 'dependants', 'retryable', 'outcome', 'type'];
  const entries = names
    .filter((name) => problem[name] !== undefined)
    .map((name) => [name, problem[name]]);
  return { status, ...Object.fromEntries(entries) };
}

/** Reads a problem document (RFC 9457) or an OAuth error (RFC 6749); otherwise it shows the status alone. */
export function problemError(answer: HttpResponse): CommandError {
  const { status } = answer;
  const problem = membersOf(parseJson(answer.body));
  const code = textOf(problem['code']) ?? textOf(problem['error']);
  const detail =
    textOf(problem['detail']) ??
    textOf(problem['error_description']) ??
    textOf(problem['title']) ??
    describeNonJsonBody(answer);
  const requestId = textOf(problem['requestId']) ?? textOf(answer.headers['x-request-id']);
  const help = textOf(problem['type']);
  const codeAndStatus = code === undefined ? `HTTP ${status}` : `${code}, HTTP ${status}`;
  return new CommandError(exitNameOfStatus(status), `${detail} (${codeAndStatus})`, {
    more: [
      ...errorLines(problem),
      ...dependantLines(problem),
      ...(requestId === undefined ? [] : [`request  ${requestId}`]),
      ...(help?.startsWith('https:') ? [`help     ${help}`] : []),
    ],
    facts: problemFacts(answer),
  });
}

function describeNonJsonBody({ body, headers }: HttpResponse): string {
  const type = textOf(headers['content-type']) ?? 'no media type';
  const start = body.toString('utf8', 0, maxChars).trim().split('\n')[0] ?? '';
  return `The server answered with ${type}, not with a problem document of the platform${start === '' ? '.' : `: ${start}`}`;
}

/** A success status with a body that is not JSON, such as the page of a proxy. */
export function unexpectedResponse(answer: HttpResponse, host: string): CommandError {
  const type = textOf(answer.headers['content-type']) ?? 'no media type';
  return new CommandError('fault', `${host} answered with ${type}, which is not JSON.`, {
    more: ['Check that the address is that of the platform, not of a proxy in front of it.'],
    facts: { status: answer.status },
  });
}
