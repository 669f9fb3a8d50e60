// Counts the requests under way, so that a stop can wait for them and turn new ones away.
import type { RequestListener, ServerResponse } from 'node:http';
import { Refusal } from '@switchyard/contract';

const pollMs = 20;

export type RequestDrain = {
  /** Wraps the listener of the server: also what no route handles is counted. */
  countRequests(listener: RequestListener): RequestListener;
  running(): number;
  /** Throws `shutting_down` once the stop has begun, and asks the client to connect anew. */
  rejectWhileDraining(response: ServerResponse): void;
  /** Resolves when nothing runs any more, or when the limit has passed; tells how many were left. */
  waitForRequests(limitMs: number): Promise<number>;
};

export function createRequestDrain(): RequestDrain {
  let running = 0;
  let isDraining = false;
  const onClose = () => {
    running -= 1;
  };
  return {
    countRequests: (listener) => (request, response) => {
      running += 1;
      response.once('close', onClose);
      listener(request, response);
    },
    running: () => running,
    rejectWhileDraining(response) {
      if (!isDraining) return;
      response.setHeader('connection', 'close');
      throw new Refusal('shutting_down', 'The process takes no new requests.', {
        retryAfterMs: 1000,
      });
    },
    async waitForRequests(limitMs) {
      isDraining = true;
      const endMs = performance.now() + limitMs;
      while (running > 0 && performance.now() < endMs) {
        await new Promise((resolve) => setTimeout(resolve, pollMs));
      }
      return running;
    },
  };
}
