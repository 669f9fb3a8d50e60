// Collects the answers of one turn of the event loop, so that the ledger is written once for all.
import type { Socket } from 'node:net';

/** A frame to send, or with `undefined` a connection to cut. */
type Parcel = { socket: Socket; frame: Buffer | undefined };

export type Outbox = {
  /** Sends a frame once the ledger is written. */
  send(socket: Socket, frame: Buffer): void;
  /** Cuts a connection once the ledger is written. */
  cut(socket: Socket): void;
  /** Has the ledger written although nothing is to be sent. */
  settle(): void;
  /** Writes and sends at once what waits. */
  drain(): void;
};

/** A peer that does not read its answers is cut off. */
const unreadBytesMax = 1 << 20;

/**
 * @param deps `flush` writes the ledger and throws where it cannot; then nothing is answered and
 *   the connections are cut, so that the other side asks again
 */
export function createOutbox(deps: {
  flush: () => void;
  onFault: (error: unknown) => void;
}): Outbox {
  let parcels: Parcel[] = [];
  let scheduled: NodeJS.Immediate | undefined;

  function schedule(): void {
    scheduled ??= setImmediate(drain);
  }

  function flushed(): boolean {
    try {
      deps.flush();
      return true;
    } catch (error) {
      deps.onFault(error);
      return false;
    }
  }

  function deliver({ socket, frame }: Parcel): void {
    if (socket.destroyed) return;
    if (frame === undefined || socket.writableLength > unreadBytesMax) socket.destroy();
    else socket.write(frame);
  }

  function drain(): void {
    if (scheduled !== undefined) clearImmediate(scheduled);
    scheduled = undefined;
    const batch = parcels;
    parcels = [];
    if (!flushed()) {
      for (const { socket } of batch) socket.destroy();
      return;
    }
    for (const { socket } of batch) socket.cork();
    for (const parcel of batch) deliver(parcel);
    for (const { socket } of batch) socket.uncork();
  }

  return {
    send(socket, frame) {
      parcels.push({ socket, frame });
      schedule();
    },
    cut(socket) {
      parcels.push({ socket, frame: undefined });
      schedule();
    },
    settle: schedule,
    drain,
  };
}
