// Collects the answers of one event loop iteration, so that the ledger is written once for all of them.
import type { Socket } from 'node:net';

/** A frame to send, or with `undefined` a connection to close. */
type QueuedFrame = { socket: Socket; frame: Buffer | undefined };

export type AnswersAfterLedgerWrite = {
  /** Sends a frame once the ledger is written. */
  send(socket: Socket, frame: Buffer): void;
  /** Closes a connection once the ledger is written. */
  disconnect(socket: Socket): void;
  /** Writes the ledger although there is no answer to send. */
  scheduleFlush(): void;
  /** Writes the ledger and sends the queued answers at once. */
  flushNow(): void;
};

/** The host closes the connection of a peer that does not read its answers. */
const unreadBytesMax = 1 << 20;

/**
 * @param deps `flush` writes the ledger. Where it throws, the host sends no answer and closes the connections, so that
 *   the other side repeats its messages
 */
export function createAnswerQueue(deps: {
  flush: () => void;
  onFault: (error: unknown) => void;
}): AnswersAfterLedgerWrite {
  let queue: QueuedFrame[] = [];
  let scheduled: NodeJS.Immediate | undefined;

  function schedule(): void {
    scheduled ??= setImmediate(drain);
  }

  function tryFlush(): boolean {
    try {
      deps.flush();
      return true;
    } catch (error) {
      deps.onFault(error);
      return false;
    }
  }

  function deliver({ socket, frame }: QueuedFrame): void {
    if (socket.destroyed) return;
    if (frame === undefined || socket.writableLength > unreadBytesMax) socket.destroy();
    else socket.write(frame);
  }

  function drain(): void {
    if (scheduled !== undefined) clearImmediate(scheduled);
    scheduled = undefined;
    const batch = queue;
    queue = [];
    if (!tryFlush()) {
      for (const { socket } of batch) socket.destroy();
      return;
    }
    for (const { socket } of batch) socket.cork();
    for (const queued of batch) deliver(queued);
    for (const { socket } of batch) socket.uncork();
  }

  return {
    send(socket, frame) {
      queue.push({ socket, frame });
      schedule();
    },
    disconnect(socket) {
      queue.push({ socket, frame: undefined });
      schedule();
    },
    scheduleFlush: schedule,
    flushNow: drain,
  };
}
