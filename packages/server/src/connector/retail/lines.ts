// Shares one session among what one point of sale sends to a terminal at a time, such as a payment and its abort.
import { hash } from 'node:crypto';
import { Refusal } from '@switchyard/contract';
import type { Terminal } from '../../provisioning/index.ts';
import { BackplaneFault } from '../backplane.ts';
import { type Asking, ownerOf, type Wanted } from '../claims.ts';
import { deviceKeyOf } from '../devices.ts';
import type { RetailDeps } from './deps.ts';
import { type Line, openLine } from './line.ts';
import { translated } from './refusals.ts';

export type Lease = { readonly line: Line; free(): void };

type Entry = { readonly opening: Promise<Line>; users: number; disown: () => void };

export type Lines = ReturnType<typeof createLines>;

/** Of a terminal and its point of sale: whoever is not the owner of the session cannot name it. */
async function keyFor(asking: Asking, terminal: Terminal, { posId }: Wanted): Promise<string> {
  const owner = await translated(async () => ownerOf(asking.caller, posId));
  return hash('sha256', `${deviceKeyOf(terminal)}|${owner}`, 'hex');
}

const topicOf = (key: string) => `retail.${key}`;

/** @example const { line, free } = await lines.take(asking, terminal, wanted, signal); */
export function createLines({ relay }: Pick<RetailDeps, 'relay'>) {
  const entries = new Map<string, Entry>();

  async function open(asking: Asking, wanted: Wanted, signal: AbortSignal): Promise<Line> {
    const got = await translated(() => relay.claims.claim(asking, wanted, signal));
    const line = await openLine((end) => relay.join(got.sessionId, end));
    if (line !== undefined && !signal.aborted) return line;
    line?.end('done');
    await translated(() => relay.claims.release(got, got.sessionId));
    throw new Refusal('device_offline', 'The terminal could not be reached.', {
      retryAfterMs: 1000,
    });
  }

  function begin(key: string, opening: Promise<Line>): Entry {
    // What comes to other nodes for this session, such as an abort, is sent here.
    const disown = relay.backplane.own(topicOf(key), async ({ text }) => ({
      isSent: typeof text === 'string' && (await opening).send(text),
    }));
    const entry: Entry = { opening, users: 0, disown };
    entries.set(key, entry);
    opening.catch(() => forget(key, entry));
    return entry;
  }

  function forget(key: string, entry: Entry): void {
    entry.disown();
    if (entries.get(key) === entry) entries.delete(key);
  }

  function release(key: string, entry: Entry, line: Line): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    forget(key, entry);
    line.end('done');
  }

  return {
    async take(
      asking: Asking,
      terminal: Terminal,
      wanted: Wanted,
      signal: AbortSignal,
    ): Promise<Lease> {
      const key = await keyFor(asking, terminal, wanted);
      const known = entries.get(key);
      const entry = known ?? begin(key, open(asking, wanted, signal));
      entry.users += 1;
      const line = await entry.opening;
      if (known !== undefined && !line.isOpen()) {
        release(key, entry, line);
        const retryAfterMs = 1000;
        throw new Refusal('device_claimed', 'A session with it ends just now.', { retryAfterMs });
      }
      let isFree = false;
      return {
        line,
        free() {
          if (isFree) return;
          isFree = true;
          release(key, entry, line);
        },
      };
    },

    /** What another node has under way with the terminal hears it; false where none has. */
    async sendElsewhere(asking: Asking, terminal: Terminal, wanted: Wanted, text: string) {
      const key = await keyFor(asking, terminal, wanted);
      if (entries.has(key)) return false;
      try {
        const told = await relay.backplane.request(topicOf(key), { text });
        return told?.['isSent'] === true;
      } catch (error) {
        // The claim that follows says what there is to say of a node that cannot be asked.
        if (error instanceof BackplaneFault) return false;
        throw error;
      }
    },

    /** Ends them all: whoever waits is told that the outcome is not known. */
    async stop(): Promise<void> {
      const all = [...entries.values()];
      for (const { opening } of all) (await opening.catch(() => undefined))?.end('restarting');
    },
  };
}
