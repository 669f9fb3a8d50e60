// Counts running requests, so that a shutdown can wait for them and reject new ones.
import type { RequestListener, ServerResponse } from 'node:http';
import { ProblemError } from '@switchyard/contract';

const pollMs = 20;

export type RequestDrain = {
  /** Wraps the listener of the server, so that requests without a route are counted too. */
  countRequests(listener: RequestListener): RequestListener;
  running(): number;
  /** Closes the connection after the response. @throws ProblemError shutting_down when the shutdown has begun */
  rejectWhileDraining(response: ServerResponse): void;
  /** Resolves when no request is running or after the limit, with the number of running requests. */
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
      throw new ProblemError('shutting_down', 'The process is shutting down; retry the request.', {
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
