// The token load, a process of its own: so many connections, each with one request at a time.
import { setTimeout as pause } from 'node:timers/promises';
import { offerFunctions } from '../bench-process.ts';
import { formType, loopback, type Target } from '../environment/send-single-request.ts';
import { readCpu } from '../report/process-times.ts';
import { writeRequest } from '../sales/http-text.ts';
import {
  askOnce,
  type HttpsConnections,
  openHttpsConnections,
} from '../sales/https-connections.ts';
import { costBetween } from '../sales/measured-step.ts';

export type Form = Readonly<Record<string, string>>;
/** A certificate with its key, PEM, and the request for its tokens. */
export type TokenDevice = { cert: string; key: string; form: Form };

export type TokenLoadOrder = {
  /** The chains of a case continue where the last step stopped. */
  name: string;
  target: Target;
  path: string;
  connections: number;
  /** Sent again and again, each connection beginning at another one. */
  forms?: Form[];
  /** Requests with refresh tokens, one chain for each connection: every answer brings the next token. */
  chains?: { clientId: string; refreshToken: string }[];
  /** For mutual TLS: the device of each connection. */
  devices?: TokenDevice[];
  /** Whether each token comes over a connection of its own, with a whole handshake. */
  newHandshakes?: boolean;
};

export type TokenRun = {
  /** Of the process that gives them, user and system, over all its threads. */
  tokensPerCpuSecond: number;
  tokensPerSecond: number;
  /** CPU time per token, µs. */
  cpuUs: { server: number; postgres: number; load: number };
  errors: Record<string, number>;
  othersShare: number;
};

/** Answers in this time before the window are not counted. */
const leadSeconds = 1;
const errorMember = /"error":"(\w+)"/;
const refreshMember = /"refresh_token":"([^"]+)"/;
/** A server that refuses everything is not called a million times. */
const errorsMax = 2000;
/** All of 127.0.0.0/8 is this machine: each connection comes from an address with limits of its own. */
const localAddresses = 250;

/** The chains of a case with their latest tokens, by its name. */
const chainsOf = new Map<string, { clientId: string; refreshToken: string }[]>();

type Response = { status: number; body: string };
/** The requests of one connection, and the fault of an answer: undefined, or a kind of error. */
type RequestSequence = { next(): string; faultOf(answer: Response): string | undefined };

function faultOf({ status, body }: Response): string | undefined {
  if (status === 200 && body.includes('"access_token":"')) return undefined;
  return `${status} ${errorMember.exec(body)?.[1] ?? 'no token'}`;
}

function writeForm({ authority }: Target, path: string, form: Form): string {
  const body = new URLSearchParams(form).toString();
  return writeRequest(authority, { method: 'POST', path, contentType: formType, body });
}

function formSequence(order: TokenLoadOrder, index: number): RequestSequence {
  const device = order.devices?.[index];
  const forms = device === undefined ? (order.forms ?? []) : [device.form];
  const texts = forms.map((form) => writeForm(order.target, order.path, form));
  let at = index;
  return {
    next() {
      at += 1;
      return texts[at % texts.length] ?? '';
    },
    faultOf,
  };
}

function sequenceOf(order: TokenLoadOrder, index: number): RequestSequence {
  if (order.chains === undefined) return formSequence(order, index);
  const chains = chainsOf.get(order.name) ?? order.chains;
  chainsOf.set(order.name, chains);
  const chain = chains[index];
  if (chain === undefined) throw new Error('there are more connections than chains');
  return {
    next: () =>
      writeForm(order.target, order.path, {
        grant_type: 'refresh_token',
        client_id: chain.clientId,
        refresh_token: chain.refreshToken,
      }),
    faultOf(answer) {
      const next = refreshMember.exec(answer.body)?.[1];
      if (next === undefined) return faultOf(answer) ?? 'no next refresh token';
      chain.refreshToken = next;
      return undefined;
    },
  };
}

function connect(order: TokenLoadOrder, index: number): Promise<HttpsConnections> {
  const localAddress = loopback.replace(/1$/, String(2 + (index % localAddresses)));
  const { cert, key } = order.devices?.[index] ?? {};
  const certificate = cert !== undefined && key !== undefined ? { cert, key } : {};
  return openHttpsConnections(order.target, 1, { localAddress, ...certificate });
}

async function run(request: {
  order: TokenLoadOrder;
  seconds: number;
  watched: { server: number; postgres: number };
}): Promise<TokenRun> {
  const { order, seconds, watched } = request;
  const errors: Record<string, number> = {};
  let answered = 0;
  let failed = 0;
  let isOver = false;
  const fail = (kind: string) => {
    errors[kind] = (errors[kind] ?? 0) + 1;
    failed += 1;
    if (failed > errorsMax) isOver = true;
  };

  async function requestTokens(index: number): Promise<void> {
    const sequence = sequenceOf(order, index);
    let connection: HttpsConnections | undefined;
    const close = () => {
      connection?.close();
      connection = undefined;
    };
    while (!isOver) {
      try {
        connection ??= await connect(order, index);
        const answer = await askOnce(connection, sequence.next());
        const fault = sequence.faultOf(answer);
        if (fault === undefined) answered += 1;
        else fail(fault);
        if (order.newHandshakes || answer.isLast) close();
      } catch (error) {
        fail(error instanceof Error ? error.message : String(error));
        close();
      }
    }
    close();
  }

  const all = Array.from({ length: order.connections }, (_, index) => requestTokens(index));
  await pause(leadSeconds * 1000);
  const begin = { cpu: readCpu(watched), answered };
  await pause(seconds * 1000);
  const end = { cpu: readCpu(watched), answered };
  isOver = true;
  await Promise.all(all);
  const { cpuUs, othersShare } = costBetween(begin, end);
  const { server, postgres, load } = cpuUs;
  return {
    tokensPerCpuSecond: server === 0 ? 0 : 1_000_000 / server,
    tokensPerSecond: (end.answered - begin.answered) / seconds,
    cpuUs: { server, postgres, load },
    errors,
    othersShare,
  };
}

/** One token from each realm, at its own path. */
async function requestOnce(request: {
  order: TokenLoadOrder;
  requests: { path: string; form: Form }[];
}): Promise<Record<string, number>> {
  const { order } = request;
  const remaining = [...request.requests];
  const errors: Record<string, number> = {};
  async function requestTokens(index: number): Promise<void> {
    const connection = await connect(order, index);
    for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
      const text = writeForm(order.target, next.path, next.form);
      const fault = faultOf(await askOnce(connection, text));
      if (fault !== undefined) errors[fault] = (errors[fault] ?? 0) + 1;
    }
    connection.close();
  }
  await Promise.all(Array.from({ length: order.connections }, (_, index) => requestTokens(index)));
  return errors;
}

const functions = { run, requestOnce };
export type TokenLoadFunctions = typeof functions;

offerFunctions(functions);
