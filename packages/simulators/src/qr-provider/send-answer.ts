// Sends answers in time, late, in pieces, incomplete, or not at all, as the test amount selects.
import type { ServerResponse } from 'node:http';
import { type ProviderCall, type ProviderResponse, providerPaths } from '@switchyard/sdk-provider';
import { type IsBroken, jsonReply } from './fault-modes.ts';
import { type AnswerDelivery, refundScriptForAmount, scriptForAmount } from './test-amounts.ts';

export type AnswerSender = {
  write(response: ServerResponse, reply: ProviderResponse): void;
  deliver(call: ProviderCall, reply: ProviderResponse, response: ServerResponse): void;
  stop(): void;
};

const fillerChars = 70_000;
const dripMs = 200;
const rememberedMax = 100_000;
const failuresOf: Partial<Record<AnswerDelivery, number>> = { 'error-twice': 2 };

/** The fault that the amount of a call selects; a repeated call gets a correct answer. */
type AnswerFault = { readonly id: string; readonly delivery: AnswerDelivery };

function answerFaultOf({ method, path, body }: ProviderCall): AnswerFault | undefined {
  const isCreate = path === providerPaths.payments;
  if (method !== 'POST' || !(isCreate || path.endsWith('/refunds'))) return undefined;
  const { amount, platformTransactionId, refundId } = JSON.parse(Buffer.from(body).toString()) as {
    amount: { amount: number };
    platformTransactionId: string;
    refundId?: string;
  };
  const { delivery } = isCreate
    ? scriptForAmount(amount.amount)
    : refundScriptForAmount(amount.amount);
  return delivery === undefined ? undefined : { id: refundId ?? platformTransactionId, delivery };
}

/** @example deliveries.deliver(call, reply, response); */
export function createAnswerSender(deps: { lateMs: number; isBroken: IsBroken }): AnswerSender {
  const timers = new Set<NodeJS.Timeout>();
  const faultCounts = new Map<string, number>();

  function write(response: ServerResponse, { status, headers, body }: ProviderResponse): void {
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  }

  function sendLater(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, delayMs);
    timers.add(timer);
  }

  function sendWithoutEnd(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), dripMs);
    timers.add(timer);
    response.once('close', () => {
      clearInterval(timer);
      timers.delete(timer);
    });
  }

  function isFaultyNow({ id, delivery }: AnswerFault): boolean {
    const before = faultCounts.get(id) ?? 0;
    if (before >= (failuresOf[delivery] ?? 1)) return false;
    if (faultCounts.size >= rememberedMax) faultCounts.clear();
    faultCounts.set(id, before + 1);
    return true;
  }

  const deliveries: Readonly<
    Record<AnswerDelivery, (response: ServerResponse, reply: ProviderResponse) => void>
  > = {
    'in-time': write,
    'after-event': write,
    error: (response) => write(response, jsonReply(500, { code: 'not_now' })),
    'error-twice': (response) => write(response, jsonReply(500, { code: 'not_now' })),
    never() {},
    late: (response, reply) => sendLater(deps.lateMs, () => write(response, reply)),
    cut: (response) => response.destroy(),
    garbled: (response, reply) => write(response, { ...reply, body: reply.body.slice(0, -1) }),
    'too-large': (response, reply) =>
      write(response, { ...reply, body: reply.body + ' '.repeat(fillerChars) }),
    drip: sendWithoutEnd,
    redirect: (response, reply) =>
      write(response, {
        ...reply,
        status: 307,
        headers: { ...reply.headers, location: 'http://127.0.0.1:9/elsewhere' },
      }),
  };

  return {
    write,
    deliver(call, reply, response) {
      if (deps.isBroken('too-slow')) return sendLater(deps.lateMs, () => write(response, reply));
      const fault = reply.status < 300 ? answerFaultOf(call) : undefined;
      const delivery = fault !== undefined && isFaultyNow(fault) ? fault.delivery : 'in-time';
      deliveries[delivery](response, reply);
    },
    stop() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
