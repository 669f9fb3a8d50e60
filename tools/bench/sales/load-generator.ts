// The load generator, a process of its own: sales and reads at the rate that the bench asks for.

import { runStep } from './fixed-rate-load.ts';
import type { HttpResponse } from './http-answers.ts';
import { type HttpsConnections, openHttpsConnections } from './https-connections.ts';
import type { FromLoad, LoadKind, ToLoad } from './load-process-messages.ts';
import { createRandom } from './request-schedule.ts';
import { createRequestWriter, type RequestWriter } from './request-text.ts';

/** Finished sales to read later; older ones make room. */
const rememberedMax = 50_000;
const approved = Buffer.from('"approved":true');
const identifierMember = Buffer.from('"transactionId":"');
const codeMember = /"code":"(\w+)"/;
const uuidLength = 36;

type Finished = { till: number; serverId: string; clientId: string };

function createGenerator(options: Extract<ToLoad, { type: 'open' }>, exchange: HttpsConnections) {
  const random = createRandom(options.seed);
  const finished: Finished[] = [];
  let made = 0;
  let writer: RequestWriter | undefined;

  function whatIsWrong({ status, bytes, bodyStart, bodyEnd }: HttpResponse): string {
    const body = bytes.toString('utf8', bodyStart, bodyEnd);
    return `${status} ${codeMember.exec(body)?.[1] ?? 'not approved'}`;
  }

  /** Approved, and of which identifier; undefined where it is not. */
  function identifierOf({ status, bytes, bodyStart, bodyEnd }: HttpResponse): string | undefined {
    if (status !== 200) return undefined;
    const approvedAt = bytes.indexOf(approved, bodyStart);
    const at = bytes.indexOf(identifierMember, bodyStart);
    if (approvedAt < 0 || approvedAt > bodyEnd || at < 0 || at > bodyEnd) return undefined;
    const start = at + identifierMember.length;
    return bytes.toString('latin1', start, start + uuidLength);
  }

  function sale(using: RequestWriter, kind: 'sales' | 'holds') {
    const { text, till, clientTransactionId } = using.sale(kind);
    return {
      text,
      faultOf(answer: HttpResponse) {
        const serverId = identifierOf(answer);
        if (serverId === undefined) return whatIsWrong(answer);
        finished[made % rememberedMax] = { till, serverId, clientId: clientTransactionId };
        made += 1;
        return undefined;
      },
    };
  }

  /** Half by the server's identifier, half by the client's. */
  function read(using: RequestWriter) {
    const one = finished[Math.floor(random() * finished.length)];
    if (one === undefined) throw new Error('there is no finished sale to read');
    const byServerId = random() < 0.5;
    return {
      text: using.read(one.till, byServerId ? one.serverId : one.clientId),
      faultOf: (answer: HttpResponse) =>
        identifierOf(answer) === one.serverId ? undefined : whatIsWrong(answer),
    };
  }

  return {
    setTills(tills: Extract<ToLoad, { type: 'tills' }>['tills']) {
      // Its own source of chance: new tokens do not change the cards.
      const { authority, cards, seed } = options;
      writer = createRequestWriter({ authority, tills, cards, random: createRandom(seed + 1) });
    },
    async step(kind: LoadKind, ratePerSecond: number, seconds: number) {
      const using = writer;
      if (using === undefined) throw new Error('no tokens were given');
      return runStep(exchange, {
        ratePerSecond,
        seconds,
        random,
        request: () => (kind === 'reads' ? read(using) : sale(using, kind)),
        onWindow: (at, answered) => sendMessage({ type: 'window', at, answered }),
      });
    },
  };
}

function sendMessage(message: FromLoad): void {
  process.send?.(message);
}

let generator: ReturnType<typeof createGenerator> | undefined;

async function obey(message: ToLoad): Promise<void> {
  if (message.type === 'open') {
    const exchange = await openHttpsConnections(message.target, message.connections);
    generator = createGenerator(message, exchange);
  }
  if (generator === undefined) throw new Error('not opened');
  if (message.type === 'tills') generator.setTills(message.tills);
  if (message.type === 'step') {
    const result = await generator.step(message.kind, message.ratePerSecond, message.seconds);
    sendMessage({ type: 'result', result });
    return;
  }
  sendMessage({ type: 'ready' });
}

process.on('message', (message: ToLoad) => {
  obey(message).catch((error: unknown) => {
    sendMessage({
      type: 'fault',
      text: error instanceof Error ? (error.stack ?? error.message) : '',
    });
  });
});
process.on('disconnect', () => process.exit(0));
