/** Turns whatever a server refuses with into something to read, and into the exit code that fits. */

import { CommandFault } from '../runtime/command-error.ts';
import type { ExitName } from '../runtime/exit-codes.ts';
import type { Incoming } from './https-transport.ts';

export type Members = Readonly<Record<string, unknown>>;

export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

const shownMax = 20;
const shownChars = 300;

const byStatus: Readonly<Record<number, ExitName>> = {
  401: 'notSignedIn',
  403: 'notPermitted',
  404: 'notFound',
  429: 'unreachable',
  502: 'unreachable',
  503: 'unreachable',
  504: 'unreachable',
};

export function exitOf(status: number): ExitName {
  return byStatus[status] ?? (status >= 500 || status < 400 ? 'fault' : 'refused');
}

/** undefined where the bytes are no JSON. */
export function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}

function errorLines(problem: Members): string[] {
  const errors = Array.isArray(problem['errors']) ? problem['errors'].map(membersOf) : [];
  const lines = errors.map(({ pointer, detail, code }) => `${pointer || '/'}  ${detail} (${code})`);
  const rest = lines.length - shownMax;
  return rest > 0 ? [...lines.slice(0, shownMax), `… and ${rest} more`] : lines;
}

/** What stands in the way of a deletion. */
function dependantLines(problem: Members): string[] {
  const dependants = Array.isArray(problem['dependants'])
    ? problem['dependants'].map(membersOf)
    : [];
  return dependants.slice(0, shownMax).map(({ type, name, id }) => `${type}  ${name}  ${id}`);
}

/** The facts of a problem, as `--json` and the reports of imports show them. */
export function problemFacts({ status, body }: Incoming): Record<string, unknown> {
  const problem = membersOf(readJson(body));
  const names = ['code', 'requestId', 'errors', 'dependants', 'retryable', 'outcome', 'type'];
  const told = names
    .filter((name) => problem[name] !== undefined)
    .map((name) => [name, problem[name]]);
  return { status, ...Object.fromEntries(told) };
}

/** RFC 9457 where it is a problem; the words of RFC 6749 at the token endpoint; else the bare status. */
export function problemFault(answer: Incoming): CommandFault {
  const { status } = answer;
  const problem = membersOf(readJson(answer.body));
  const code = textOf(problem['code']) ?? textOf(problem['error']);
  const detail =
    textOf(problem['detail']) ??
    textOf(problem['error_description']) ??
    textOf(problem['title']) ??
    notJson(answer);
  const requestId = textOf(problem['requestId']) ?? textOf(answer.headers['x-request-id']);
  const help = textOf(problem['type']);
  const named = code === undefined ? `HTTP ${status}` : `${code}, HTTP ${status}`;
  return new CommandFault(exitOf(status), `${detail} (${named})`, {
    more: [
      ...errorLines(problem),
      ...dependantLines(problem),
      ...(requestId === undefined ? [] : [`request  ${requestId}`]),
      ...(help?.startsWith('https:') ? [`help     ${help}`] : []),
    ],
    facts: problemFacts(answer),
  });
}

function notJson({ body, headers }: Incoming): string {
  const type = textOf(headers['content-type']) ?? 'no media type';
  const start = body.toString('utf8', 0, shownChars).trim().split('\n')[0] ?? '';
  return `The server answered with ${type} and not with a problem of this platform${start === '' ? '.' : `: ${start}`}`;
}

/** A good status with something else than what was promised, such as the page of a proxy. */
export function strangeAnswer(answer: Incoming, host: string): CommandFault {
  const type = textOf(answer.headers['content-type']) ?? 'no media type';
  return new CommandFault('fault', `${host} answered with ${type}, which is not JSON.`, {
    more: ['Does the address lead to the platform itself, or to something in front of it?'],
    facts: { status: answer.status },
  });
}
