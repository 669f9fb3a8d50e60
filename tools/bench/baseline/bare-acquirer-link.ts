// One connection to the acquirer simulator: sends sales without waiting for earlier responses.
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  isNetworkResponse,
  readSaleResponse,
  signOnRequest,
  writeSale,
} from './bare-acquirer-message.ts';

const lengthBytes = 2;
const traceMax = 999_999;

type Pending = { resolve(isApproved: boolean): void; reject(error: Error): void };

/** Calls back for each whole frame, with its length. */
function createFrameReader(onFrame: (frame: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (bytes.length >= lengthBytes) {
      const end = lengthBytes + bytes.readUInt16BE(0);
      if (bytes.length < end) break;
      onFrame(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  };
}

/** DE7 of this moment, MMDDhhmmss. */
function transmissionTime(): string {
  return new Date().toISOString().slice(5, 19).replace(/\D/g, '');
}

export type BareAcquirerLink = {
  /** One request and its response; returns whether the simulator approved the amount. */
  approve(amount: number): Promise<boolean>;
};

export async function openBareAcquirerLink(port: number): Promise<BareAcquirerLink> {
  const pending = new Map<number, Pending>();
  let lastTrace = 0;
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  const signedOn = new Promise<void>((resolve, reject) => {
    const readChunk = createFrameReader((frame) => {
      const response = readSaleResponse(frame);
      if (response === undefined) return isNetworkResponse(frame) ? resolve() : undefined;
      pending.get(response.trace)?.resolve(response.isApproved);
      pending.delete(response.trace);
    });
    socket.on('data', readChunk);
    socket.on('error', reject);
    socket.on('close', () => {
      const error = new Error('the acquirer simulator closed the connection');
      reject(error);
      for (const each of pending.values()) each.reject(error);
      pending.clear();
    });
  });
  socket.write(signOnRequest);
  await signedOn;
  return {
    approve(amount) {
      lastTrace = lastTrace === traceMax ? 1 : lastTrace + 1;
      const trace = lastTrace;
      if (socket.destroyed)
        return Promise.reject(new Error('the connection to the acquirer simulator is closed'));
      return new Promise((resolve, reject) => {
        pending.set(trace, { resolve, reject });
        socket.write(writeSale({ amount, trace, sentAt: transmissionTime() }));
      });
    },
  };
}
