// How a device and a point of sale of the load come to talk: by the protocol of the connector, or barely.
import { connectorPaths } from '@switchyard/contract';
import type { Target } from '../environment/send-single-request.ts';
import { type LoadSocket, openSocket } from './relay-socket.ts';
import { encodeFrame, opcodes } from './websocket-frames.ts';

/** With the credentials of devices, and the token of a point of sale. */
export type PlatformTarget = Target & { clientId: string; clientSecret: string; token: string };
/** The baseline checks nothing: it has no credentials. */
export type PairTarget = PlatformTarget | Target;

export type ConnectedPair = { readonly device: LoadSocket; readonly pos: LoadSocket };

const answerMs = 30_000;
/** As many as a control connection may hold, with one to spare. */
export const claimsPerControl = 60;
/** Each address has ports of its own. */
const addresses = 16;

const loopbackAddressOf = (number: number): string => `127.0.0.${2 + (number % addresses)}`;

type Answer = Readonly<Record<string, unknown>>;

/** The next message of a socket that is read as text. */
function nextMessage(socket: LoadSocket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no answer')), answerMs);
    socket.onMessage = (_bytes, text) => {
      clearTimeout(limit);
      resolve(JSON.parse(text) as Answer);
    };
    socket.onClose = (code) => {
      clearTimeout(limit);
      reject(new Error(`closed with ${code}`));
    };
  });
}

function fail(reply: Answer): never {
  const error = reply['error'] as Answer | undefined;
  throw new Error(String(error?.['code'] ?? JSON.stringify(reply)));
}

const pathOf = (url: unknown): string => new URL(String(url)).pathname;

/** Registers and connects. */
export async function openDeviceConnection(
  target: PlatformTarget,
  tsn: string,
  number: number,
): Promise<LoadSocket> {
  const from = loopbackAddressOf(number);
  const first = await openSocket(target, connectorPaths.deviceListener, { from, keepsText: true });
  const answer = nextMessage(first);
  const { clientId, clientSecret } = target;
  const message = { type: 'register', tsn, client_id: clientId, client_secret: clientSecret };
  first.write(encodeFrame(opcodes.text, JSON.stringify(message)));
  const reply = await answer;
  if (reply['type'] !== 'registered') fail(reply);
  return openSocket(target, pathOf(reply['connectionUrl']), {
    from,
    token: String(reply['token']),
  });
}

export type ControlConnection = {
  claim(tsn: string): Promise<{ sessionId: string; sessionUrl: string }>;
  release(sessionId: string): Promise<void>;
  close(): void;
};

/** A point of sale with its control connection; any number of questions at a time. */
export async function openControlConnection(
  target: PlatformTarget,
  number: number,
): Promise<ControlConnection> {
  const from = loopbackAddressOf(number);
  const path = connectorPaths.posListener;
  const { token } = target;
  const socket = await openSocket(target, path, { token, from, keepsText: true });
  const waiting = new Map<string, { resolve(reply: Answer): void; reject(error: Error): void }>();
  let requestCount = 0;
  socket.onMessage = (_bytes, text) => {
    const reply = JSON.parse(text) as Answer;
    const requestId = reply['requestId'];
    if (typeof requestId !== 'string') return;
    waiting.get(requestId)?.resolve(reply);
    waiting.delete(requestId);
  };
  socket.onClose = (code) => {
    for (const { reject } of waiting.values()) reject(new Error(`closed with ${code}`));
    waiting.clear();
  };
  const sendRequest = (message: Answer) =>
    new Promise<Answer>((resolve, reject) => {
      requestCount += 1;
      const requestId = String(requestCount);
      waiting.set(requestId, { resolve, reject });
      socket.write(encodeFrame(opcodes.text, JSON.stringify({ ...message, requestId })));
    });
  return {
    async claim(tsn) {
      const reply = await sendRequest({ type: 'claim', tsn, posId: `till-${number}` });
      if (reply['type'] !== 'claimed') fail(reply);
      return { sessionId: String(reply['sessionId']), sessionUrl: String(reply['sessionUrl']) };
    },
    async release(sessionId) {
      const reply = await sendRequest({ type: 'release', sessionId });
      if (reply['type'] !== 'released') fail(reply);
    },
    close: () => socket.raw.destroy(),
  };
}

/** @param control of a point of sale with claims left; undefined at the baseline */
export async function connectPair(
  target: PairTarget,
  control: ControlConnection | undefined,
  tsn: string,
  number: number,
): Promise<ConnectedPair> {
  const from = loopbackAddressOf(number);
  if (control === undefined || !('token' in target)) {
    const device = await openSocket(target, `/device/${tsn}`, { from });
    return { device, pos: await openSocket(target, `/pos/${tsn}`, { from }) };
  }
  const device = await openDeviceConnection(target, tsn, number);
  const { sessionUrl } = await control.claim(tsn);
  return { device, pos: await openSocket(target, pathOf(sessionUrl), { from }) };
}
