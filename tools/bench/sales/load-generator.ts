// The load generator, a process of its own: sales and reads at the rate that the bench requests.
import { offerFunctions } from '../bench-process.ts';
import type { Target } from '../environment/send-single-request.ts';
import type { WatchedPids } from '../report/process-times.ts';
import { describeFailure, type HttpResponse } from './http-text.ts';
import { type HttpsConnections, openHttpsConnections } from './https-connections.ts';
import { type CostedStep, runMeasuredStep } from './measured-step.ts';
import { createRandom } from './request-schedule.ts';
import { createRequestWriter, type RequestWriter, type SellingDevice } from './request-text.ts';

/** `holds` are sales that are captured later. */
export type LoadKind = 'sales' | 'holds' | 'reads';
export type MeasuredStep = CostedStep & { kind: LoadKind };
export type SalesLoad = {
  step(kind: LoadKind, ratePerSecond: number, seconds: number): Promise<MeasuredStep>;
};

type LoadOptions = {
  target: Target;
  watched: WatchedPids;
  connections: number;
  cards: number;
  seed: number;
};

/** Finished sales to read later; new ones replace older ones. */
const rememberedMax = 50_000;
const approved = Buffer.from('"approved":true');
const identifierMember = Buffer.from('"transactionId":"');
const uuidLength = 36;

type Finished = { till: number; serverId: string; clientId: string };

/** The identifier of an approved transaction; undefined if it is not approved. */
function identifierOf({ status, bytes, bodyStart, bodyEnd }: HttpResponse): string | undefined {
  if (status !== 200) return undefined;
  const approvedAt = bytes.indexOf(approved, bodyStart);
  const at = bytes.indexOf(identifierMember, bodyStart);
  if (approvedAt < 0 || approvedAt > bodyEnd || at < 0 || at > bodyEnd) return undefined;
  const start = at + identifierMember.length;
  return bytes.toString('latin1', start, start + uuidLength);
}

function createGenerator(options: LoadOptions, connections: HttpsConnections) {
  const random = createRandom(options.seed);
  const finished: Finished[] = [];
  let made = 0;

  function sale(writer: RequestWriter, kind: 'sales' | 'holds') {
    const { text, till, clientTransactionId } = writer.sale(kind);
    return {
      text,
      faultOf(answer: HttpResponse) {
        const serverId = identifierOf(answer);
        if (serverId === undefined) return describeFailure(answer, 'not approved');
        finished[made % rememberedMax] = { till, serverId, clientId: clientTransactionId };
        made += 1;
        return undefined;
      },
    };
  }

  /** Half by the server's identifier, half by the client's. */
  function read(writer: RequestWriter) {
    const one = finished[Math.floor(random() * finished.length)];
    if (one === undefined) throw new Error('there is no finished sale to read');
    const byServerId = random() < 0.5;
    return {
      text: writer.read(one.till, byServerId ? one.serverId : one.clientId),
      faultOf: (answer: HttpResponse) =>
        identifierOf(answer) === one.serverId ? undefined : describeFailure(answer, 'not approved'),
    };
  }

  let writer: RequestWriter | undefined;
  return {
    setTills(tills: SellingDevice[]) {
      const { target, cards, seed } = options;
      // A random source of its own: new tokens do not change the cards.
      const ownRandom = createRandom(seed + 1);
      writer = createRequestWriter({
        authority: target.authority,
        tills,
        cards,
        random: ownRandom,
      });
    },
    async step(step: { kind: LoadKind; ratePerSecond: number; seconds: number }) {
      const { kind, ratePerSecond, seconds } = step;
      const using = writer;
      if (using === undefined) throw new Error('there are no tokens');
      const measured = await runMeasuredStep(connections, options.watched, {
        ratePerSecond,
        seconds,
        random,
        request: () => (kind === 'reads' ? read(using) : sale(using, kind)),
      });
      return { ...measured, kind };
    },
  };
}

let generator: ReturnType<typeof createGenerator> | undefined;

function opened() {
  if (generator === undefined) throw new Error('the load generator is not open');
  return generator;
}

const functions = {
  async open(options: LoadOptions): Promise<void> {
    const connections = await openHttpsConnections(options.target, options.connections);
    generator = createGenerator(options, connections);
  },
  setTills: (tills: SellingDevice[]): void => opened().setTills(tills),
  step: (step: { kind: LoadKind; ratePerSecond: number; seconds: number }) => opened().step(step),
};
export type LoadGeneratorFunctions = typeof functions;

offerFunctions(functions);
