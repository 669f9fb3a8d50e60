/** The simulated terminal of a device: its state from the server, and the actions of this page. */
import type { PortalTerminalAction, PortalTerminalView } from '@switchyard/contract';
import { useEffect, useState } from 'react';
import { isProblem, SignedOutError } from '../../../api/api-errors.ts';
import { api, fetchResponse } from '../../../api/client.ts';
import { newUuid } from '../../../session/random-values.ts';

export type SimulatedTerminal = {
  /** Absent until the terminal has started. */
  readonly view: PortalTerminalView | undefined;
  readonly fault: unknown;
  act(action: PortalTerminalAction): void;
  /** Clears the error, and follows the terminal again. */
  retry(): void;
};

const path = '/portal/terminals';
/** One page at a time controls a terminal. */
const pageId = newUuid();
const streamLimitMs = 3_600_000;
const reconnectMs = 1_000;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function* viewsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<PortalTerminalView> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, data] = /^event: terminal\ndata: (.*)$/m.exec(block) ?? [];
      if (data !== undefined) yield JSON.parse(data) as PortalTerminalView;
    }
  }
}

/** Only a rejection by the platform is final; other errors are retried. */
const isFinal = (error: unknown): boolean =>
  error instanceof SignedOutError || (isProblem(error) && !error.problem.retryable);

export function useSimulatedTerminal(deviceId: string): SimulatedTerminal {
  const [view, setView] = useState<PortalTerminalView | undefined>(undefined);
  const [fault, setFault] = useState<unknown>(undefined);
  const [attempt, setAttempt] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt follows the terminal again
  useEffect(() => {
    const control = new AbortController();
    const { signal } = control;

    async function followOnce(): Promise<void> {
      const { body } = await fetchResponse('GET', `${path}/events`, {
        query: { page: pageId },
        headers: { accept: 'text/event-stream', 'x-switchyard-device': deviceId },
        signal,
        isBackground: true,
        limitMs: streamLimitMs,
      });
      if (body === null) return;
      for await (const next of viewsIn(body)) setView(next);
    }

    async function follow(): Promise<void> {
      while (!signal.aborted) {
        try {
          await followOnce();
        } catch (error) {
          if (signal.aborted) return;
          if (isFinal(error)) {
            setFault(error);
            return;
          }
        }
        if (!signal.aborted) setView((last) => last && { ...last, connection: 'Reconnecting' });
        await pause(reconnectMs);
      }
    }

    void follow();
    return () => control.abort();
  }, [deviceId, attempt]);

  return {
    view,
    fault,
    act(action) {
      const headers = { 'x-switchyard-device': deviceId };
      api
        .post(`${path}/actions`, { query: { page: pageId }, headers, body: action })
        .catch(setFault);
    },
    retry() {
      setFault(undefined);
      setAttempt((last) => last + 1);
    },
  };
}
