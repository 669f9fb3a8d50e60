// A till and a terminal that exchange messages continuously, while their nodes fail.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { pause } from '../../src/platform/index.ts';
import { eventually } from '../support/wait-for-condition.ts';
import type { Node, TestConnectorNodes } from './connector-nodes.ts';
import type { Json, Line } from './test-connector.ts';

const askAgainMs = 100;
const lastRoundMs = 10_000;

export const codeOf = (answer: Json) => answer['error']?.code;
export const pathOf = ({ sessionUrl }: Json) => new URL(sessionUrl).pathname;

export function nodeIn(setup: TestConnectorNodes, { sessionUrl }: Json): Node {
  const { host } = new URL(sessionUrl);
  const matchingNode = setup.nodes.find((node) => `${node.host}:${node.port}` === host);
  assert.ok(matchingNode, sessionUrl);
  return matchingNode;
}

type Load = {
  readonly tsn: string;
  /** The index of the first node of the device. */
  readonly start: number;
  readonly posAt: () => Node;
};

/**
 * Runs rounds of claim, messages in both directions, and release. It ends with its test, also after
 * a failure.
 */
export function payOn(t: TestContext, setup: TestConnectorNodes, load: Load) {
  const rounds: string[] = [];
  const faults: string[] = [];
  let isOver = false;
  let deviceAt = load.start;
  let device: Line | undefined;
  let till: Line | undefined;

  const nodeAt = (at: number): Node => setup.nodes[at % setup.nodes.length] as Node;

  /** Reconnects to the next node after each close, as device software does. */
  async function deviceLoop(): Promise<void> {
    while (!isOver) {
      try {
        const line = await setup.device(nodeAt(deviceAt), load.tsn);
        device = line;
        line.socket.on('message', (data, isBinary) => {
          line.socket.send(Buffer.concat([Buffer.from('answer '), data as Buffer]), {
            binary: isBinary,
          });
        });
        await line.closed();
      } catch (error) {
        faults.push(`device: ${String(error)}`);
      }
      deviceAt += 1;
      await pause(askAgainMs);
    }
    device?.close();
  }

  async function round(pos: Line, number: number): Promise<void> {
    // A session that was claimed before a break and never used stays reserved for a minute.
    const claimOptions = { tsn: load.tsn, posId: 'till', waitSeconds: 2, takeOver: true };
    const got = await setup.ask(pos, { type: 'claim', ...claimOptions });
    if (got['type'] !== 'claimed') throw new Error(String(codeOf(got)));
    const session = await nodeIn(setup, got).open(pathOf(got));
    const word = `round ${number}`;
    session.send(word);
    const heard = (await session.raw()).data.toString();
    // A response must belong to this request.
    assert.equal(heard, `answer ${word}`);
    rounds.push(word);
    session.close(1000);
    await setup.ask(pos, { type: 'release', sessionId: got['sessionId'] });
  }

  async function posLoop(): Promise<void> {
    let number = 0;
    while (!isOver) {
      try {
        till = await setup.pos(load.posAt());
        const closed = till.closed().then(() => 'closed' as const);
        while (!isOver) {
          number += 1;
          if ((await Promise.race([round(till, number), closed])) === 'closed') break;
        }
      } catch (error) {
        if (error instanceof assert.AssertionError && error.message.includes('answer')) throw error;
        faults.push(String(error));
      } finally {
        till?.close();
      }
      await pause(askAgainMs);
    }
  }

  const [ofDevice, ofPos] = [deviceLoop(), posLoop()];

  /** Lets the till finish its round first; after a time limit it terminates the connection. */
  async function end(): Promise<void> {
    isOver = true;
    const limit = new AbortController();
    await Promise.race([ofPos, pause(lastRoundMs, limit.signal)]).finally(() => {
      limit.abort();
      till?.socket.terminate();
      device?.socket.terminate();
    });
    await Promise.all([ofDevice, ofPos]);
  }
  t.after(end);

  return {
    /** Waits until three more rounds have succeeded. */
    async goesOn(): Promise<void> {
      const [enough, since] = [rounds.length + 3, faults.length];
      await eventually('more rounds', () => rounds.length >= enough).catch((error: Error) => {
        const recentFaults = faults.slice(since).slice(-20).join('\n');
        throw new Error(`${error.message}, behind ${rounds.at(-1)}:\n${recentFaults}`);
      });
    },
    end,
  };
}
