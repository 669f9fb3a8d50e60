// Asks for tokens as fast as they come, from a process of its own: so many connections, each one request at a time.
import {
  openTokenConnection,
  type TokenConnection,
  type TokenResponse,
} from './token-connection.ts';
import type {
  FromTokenLoad,
  TokenCounts,
  TokenLoadOrder,
  TokenTarget,
  ToTokenLoad,
} from './token-messages.ts';

/** What is answered in this time before the window is not counted. */
const leadSeconds = 1;
const errorMember = /"error":"(\w+)"/;
const refreshMember = /"refresh_token":"([^"]+)"/;
/** A server that refuses everything is not asked a million times. */
const errorsMax = 2000;

/** Where the chains of a part have got to, by its name. */
const chainsOf = new Map<string, { clientId: string; refreshToken: string }[]>();

function sendMessage(message: FromTokenLoad): void {
  process.send?.(message);
}

function requestText({ authority, path }: TokenTarget, form: string): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: ${authority}\r\n` +
    'Content-Type: application/x-www-form-urlencoded\r\n' +
    `Content-Length: ${form.length}\r\n\r\n${form}`
  );
}

/** The requests of one connection, and what to make of their answers: undefined, or a kind of error. */
type RequestSequence = { next(): string; faultOf(answer: TokenResponse): string | undefined };

function whatIsWrong({ status, body }: TokenResponse): string | undefined {
  if (status === 200 && body.includes('"access_token":"')) return undefined;
  return `${status} ${errorMember.exec(body)?.[1] ?? 'no token'}`;
}

function formSequence({ target, forms, devices }: TokenLoadOrder, index: number): RequestSequence {
  const device = devices?.[index];
  const texts = (device === undefined ? forms : [device.form]).map((form) =>
    requestText(target, form),
  );
  let at = index;
  return {
    next() {
      at += 1;
      return texts[at % texts.length] ?? '';
    },
    faultOf: whatIsWrong,
  };
}

function refreshSequence(
  target: TokenTarget,
  chain: { clientId: string; refreshToken: string },
): RequestSequence {
  return {
    next: () =>
      requestText(
        target,
        new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: chain.clientId,
          refresh_token: chain.refreshToken,
        }).toString(),
      ),
    faultOf(answer) {
      const next = refreshMember.exec(answer.body)?.[1];
      if (next === undefined) return whatIsWrong(answer) ?? 'no next refresh token';
      chain.refreshToken = next;
      return undefined;
    },
  };
}

function sequenceOf(work: TokenLoadOrder, index: number): RequestSequence {
  if (work.chains === undefined) return formSequence(work, index);
  const chains = chainsOf.get(work.name) ?? work.chains;
  chainsOf.set(work.name, chains);
  const chain = chains[index];
  if (chain === undefined) throw new Error('there are more connections than chains');
  return refreshSequence(work.target, chain);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function run(work: TokenLoadOrder, seconds: number): Promise<TokenCounts> {
  const counts = { answered: 0, errors: new Map<string, number>() };
  let isOver = false;
  const fail = (kind: string) => {
    counts.errors.set(kind, (counts.errors.get(kind) ?? 0) + 1);
    const all = [...counts.errors.values()].reduce((sum, count) => sum + count, 0);
    if (all > errorsMax) isOver = true;
  };

  async function go(index: number): Promise<void> {
    const { next, faultOf } = sequenceOf(work, index);
    let connection: TokenConnection | undefined;
    while (!isOver) {
      try {
        connection ??= await openTokenConnection(work.target, index, work.devices?.[index]);
        const answer = await connection.ask(next());
        const fault = faultOf(answer);
        if (fault === undefined) counts.answered += 1;
        else fail(fault);
        if (work.newHandshakes || answer.isLast) {
          connection.close();
          connection = undefined;
        }
      } catch (error) {
        fail(error instanceof Error ? error.message : String(error));
        connection?.close();
        connection = undefined;
      }
    }
    connection?.close();
  }

  const going = Array.from({ length: work.connections }, (_, index) => go(index));
  await pause(leadSeconds * 1000);
  sendMessage({ type: 'window', at: 'begin', answered: counts.answered });
  await pause(seconds * 1000);
  sendMessage({ type: 'window', at: 'end', answered: counts.answered });
  isOver = true;
  await Promise.all(going);
  return { answered: counts.answered, errors: Object.fromEntries(counts.errors) };
}

/** Each form once, at a path of its own. */
async function once(work: TokenLoadOrder, paths: readonly string[]): Promise<TokenCounts> {
  const errors = new Map<string, number>();
  let answered = 0;
  let at = 0;
  async function go(index: number): Promise<void> {
    const connection = await openTokenConnection(work.target, index);
    for (let position = at++; position < paths.length; position = at++) {
      const target = { ...work.target, path: paths[position] ?? '' };
      const fault = whatIsWrong(
        await connection.ask(requestText(target, work.forms[position] ?? '')),
      );
      if (fault === undefined) answered += 1;
      else errors.set(fault, (errors.get(fault) ?? 0) + 1);
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: work.connections }, (_, index) => go(index)));
  return { answered, errors: Object.fromEntries(errors) };
}

process.on('message', (message: ToTokenLoad) => {
  const done =
    message.type === 'run' ? run(message.work, message.seconds) : once(message.work, message.paths);
  done.then(
    (counts) => sendMessage({ type: 'result', ...counts }),
    (error: unknown) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      sendMessage({ type: 'fault', text });
    },
  );
});
process.on('disconnect', () => process.exit(0));
