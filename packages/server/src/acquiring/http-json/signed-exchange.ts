// Sends a signed request to an HTTP acquirer, verifies the response signature and parses the body.
import { SpiAnswer, SpiEchoAnswer, type SpiPath } from '@switchyard/contract';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import type { Clock } from '../../platform/index.ts';
import type { Calls } from './acquirer-http-client.ts';
import type { Echo } from './acquirer-readiness.ts';
import {
  type AnswerVerifier,
  type LinkSigner,
  type ReceivedAnswer,
  signRequest,
} from './http-message-signatures.ts';
import type { GenuineAnswer } from './spi-messages.ts';

export type Asked =
  | { result: 'Answered'; genuine: GenuineAnswer }
  | { result: 'NotSent'; reason: string }
  | { result: 'Timeout' | 'ConnectionLost' | 'NotGenuine' };

export type Exchange = {
  ask(
    path: SpiPath,
    message: object,
    how: {
      timeoutMs: number;
      onSent?: (() => void) | undefined;
      onLate?: (late: GenuineAnswer) => void;
    },
  ): Promise<Asked>;
  /** Sends an echo that asks whether the acquirer accepts payments. */
  echo(sentAt: string, timeoutMs: number): Promise<Echo>;
};

type Deps = {
  calls: Calls;
  /** A separate client, so that echoes do not wait for payment connections. */
  echoCalls: Pick<Calls, 'post'>;
  signer: LinkSigner;
  verifier: AnswerVerifier;
  clock: Clock;
  /** Returns a new nonce for each request. */
  nonce: () => string;
  /** Path prefix of the SPI at this acquirer, such as `/switchyard`. */
  prefix: string;
};

function reader<Schema extends TSchema>(schema: Schema) {
  const compiled = Compile(schema);
  return (body: Buffer): Static<Schema> | undefined => {
    try {
      const value: unknown = JSON.parse(body.toString('utf8'));
      return compiled.Check(value) ? (value as Static<Schema>) : undefined;
    } catch {
      // Invalid JSON counts as an invalid response.
      return undefined;
    }
  };
}

const readAnswer = reader(SpiAnswer);
const readEchoAnswer = reader(SpiEchoAnswer);

/** @example const { ask } = createExchange({ calls, echoCalls, signer, verifier, clock, nonce, prefix: '' }); */
export function createExchange(deps: Deps): Exchange {
  const { calls, signer, verifier, clock } = deps;

  function sign(path: SpiPath, message: object) {
    const body = JSON.stringify(message);
    const full = deps.prefix + path;
    const given = { path: full, body, now: clock.now(), nonce: deps.nonce() };
    const { headers, signature } = signRequest(signer, given);
    const isGenuine = (answer: ReceivedAnswer) =>
      verifier.isGenuine(answer, signature, clock.now());
    return { call: { path: full, headers, body }, isGenuine };
  }

  return {
    async ask(path, message, { timeoutMs, onSent, onLate }) {
      const { call, isGenuine } = sign(path, message);
      const genuine = (received: ReceivedAnswer): GenuineAnswer | undefined => {
        if (!isGenuine(received)) return undefined;
        const answer = readAnswer(received.body);
        return answer && { status: received.status, answer };
      };
      const called = await calls.post({
        ...call,
        timeoutMs,
        onSent,
        onLate:
          onLate &&
          ((received) => {
            const late = genuine(received);
            if (late !== undefined) onLate(late);
          }),
      });
      if (called.result !== 'Answered') return called;
      const answer = genuine(called.answer);
      return answer === undefined
        ? { result: 'NotGenuine' }
        : { result: 'Answered', genuine: answer };
    },
    async echo(sentAt, timeoutMs) {
      const { call, isGenuine } = sign('/v1/echo', { sentAt });
      const called = await deps.echoCalls.post({ ...call, timeoutMs });
      if (called.result !== 'Answered') return 'Silent';
      const { answer } = called;
      if (answer.status !== 200 || !isGenuine(answer)) return 'NotReady';
      return readEchoAnswer(answer.body)?.status === 'Ready' ? 'Ready' : 'NotReady';
    },
  };
}
