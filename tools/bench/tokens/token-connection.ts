// One TLS connection of the token load: a request, its answer, and the next one when asked.
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { defined } from '@switchyard/contract';
import { createResponseReader, type HttpResponse } from '../sales/http-answers.ts';
import type { TokenDevice, TokenTarget } from './token-messages.ts';

/** A name for what a certificate of the server is made out to. */
const serverName = 'localhost';
const answerLimitMs = 30_000;
/** All of 127.0.0.0/8 is this machine: each connection comes from an address with limits of its own. */
const localAddresses = 250;

export type TokenResponse = { status: number; body: string; isLast: boolean };
export type TokenConnection = {
  ask(text: string): Promise<TokenResponse>;
  close(): void;
};

type Waiting = { resolve(answer: TokenResponse): void; reject(fault: Error): void };

const copied = ({ status, bytes, bodyStart, bodyEnd, isLast }: HttpResponse): TokenResponse => ({
  status,
  body: bytes.toString('utf8', bodyStart, bodyEnd),
  isLast,
});

/** @param index which of the connections it is */
export function openTokenConnection(
  target: TokenTarget,
  index: number,
  device?: TokenDevice,
): Promise<TokenConnection> {
  const { host, port, ca } = target;
  let waiting: Waiting | undefined;
  // The types do not know that what a socket takes is handed on to it.
  const options: ConnectionOptions & { localAddress: string } = {
    host,
    port,
    ca,
    servername: serverName,
    ALPNProtocols: ['http/1.1'],
    localAddress: `127.0.0.${2 + (index % localAddresses)}`,
    ...defined({ cert: device?.cert, key: device?.key }),
  };
  const socket: TLSSocket = connect(options);
  socket.setNoDelay(true);
  socket.setTimeout(answerLimitMs, () => socket.destroy(new Error('no answer in time')));
  const read = createResponseReader((answer) => {
    const pending = waiting;
    waiting = undefined;
    pending?.resolve(copied(answer));
  });
  const lose = (fault: Error) => {
    waiting?.reject(fault);
    waiting = undefined;
  };
  socket.on('close', () => lose(new Error('connection closed')));

  return new Promise((resolve, reject) => {
    socket.once('error', (fault) => {
      reject(fault);
      lose(fault);
    });
    socket.on('data', read);
    socket.once('secureConnect', () =>
      resolve({
        ask: (text) =>
          new Promise((answered, failed) => {
            waiting = { resolve: answered, reject: failed };
            socket.write(text, 'latin1');
          }),
        close: () => socket.destroy(),
      }),
    );
  });
}
