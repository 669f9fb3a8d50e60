/** Makes many things of a kind with one request: a line for each, and an answer for each line. */

import type { Api } from '../http/api-client.ts';
import { membersOf, problemFault } from '../http/problem-details.ts';
import { CommandFault, fail } from '../runtime/command-error.ts';
import type { KindName, Thing } from './estate-model.ts';

/** The kinds that the route takes; its names for them are ours. */
const kinds: readonly KindName[] = ['merchant', 'store', 'logicalDevice', 'physicalDevice'];
/** Below this the single routes are as quick. */
const worthIt = 20;
/** So many that an answer is there soon, and what was stopped has not far to go. */
const linesAtOnce = 500;

export type Made = { readonly thing: Thing; readonly id?: string; readonly fault?: CommandFault };

export const isWorthBulk = (kind: KindName, count: number): boolean =>
  kinds.includes(kind) && count >= worthIt;

export function* chunksOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < items.length; at += linesAtOnce) yield items.slice(at, at + linesAtOnce);
}

function faultOf(error: unknown): CommandFault {
  const { code, detail, errors } = membersOf(error);
  const members = Array.isArray(errors) ? errors.map(membersOf) : [];
  // The single routes point into the body, these into the line.
  const pointerOf = (pointer: unknown) => String(pointer).replace(/^\/data(?=\/)/, '');
  const more = members.map(
    (each) => `${pointerOf(each['pointer'])}  ${each['detail']} (${each['code']})`,
  );
  return new CommandFault('refused', `${detail} (${code})`, { more, facts: { code } });
}

type Answers = {
  readonly byLine: ReadonlyMap<number, Readonly<Record<string, unknown>>>;
  readonly error?: unknown;
};

function readAnswers(body: Buffer): Answers {
  const byLine = new Map<number, Readonly<Record<string, unknown>>>();
  let error: unknown;
  for (const text of body.toString('utf8').split('\n')) {
    if (text === '') continue;
    let told: Readonly<Record<string, unknown>>;
    try {
      told = membersOf(JSON.parse(text));
    } catch {
      return fail('fault', 'The answer to an import is not JSON Lines.');
    }
    if (told['summary'] === undefined) byLine.set(Number(told['line']), told);
    else error = membersOf(told['summary'])['error'];
  }
  return { byLine, error };
}

/** @param bodyOf throws where what a thing needs is not there; then its line is not sent */
export async function makeMany(
  api: Api,
  things: readonly Thing[],
  bodyOf: (thing: Thing) => unknown,
): Promise<Made[]> {
  const made: Made[] = [];
  const sent: Thing[] = [];
  const lines: string[] = [];
  for (const thing of things) {
    try {
      lines.push(JSON.stringify({ type: thing.kind, operation: 'create', data: bodyOf(thing) }));
      sent.push(thing);
    } catch (error) {
      if (!(error instanceof CommandFault)) throw error;
      made.push({ thing, fault: error });
    }
  }
  if (sent.length === 0) return made;
  const raw = { type: 'application/jsonl', bytes: `${lines.join('\n')}\n` };
  const answer = await api.raw('POST', '/provisioning/v2/bulk', { raw });
  if (answer.status !== 200) throw problemFault(answer);
  const { byLine, error } = readAnswers(answer.body);
  sent.forEach((thing, index) => {
    const told = byLine.get(index + 1);
    const id = told?.['id'];
    if (told?.['status'] === 'created' && typeof id === 'string') made.push({ thing, id });
    else
      made.push({
        thing,
        fault: faultOf(told?.['error'] ?? error ?? { detail: 'It was not answered.' }),
      });
  });
  return made;
}
