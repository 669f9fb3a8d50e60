// An attack: attempts, each with a response, and the check that decides whether the platform held.
import type { SeededRandom } from '../../packages/server/test/support/seeded-random.ts';
import type { Platforms } from './platforms.ts';

export type Attack = {
  /** The item of the security review to which the attack belongs. */
  readonly item: number;
  readonly name: string;
  run(attempts: Attempts, platforms: Platforms): Promise<void>;
};

export type Attempts = {
  readonly chance: SeededRandom;
  /** Records one attempt. @param response is counted by its text, so it names no identifiers */
  record(attempt: { what: string; response: string; isHeld: boolean }): void;
  /** Records a precondition without which the attack would prove nothing. */
  requireControl(what: string, isMet: boolean): void;
};

export type Outcome = {
  readonly item: number;
  readonly name: string;
  readonly attempts: number;
  readonly seconds: number;
  /** How often each response came. */
  readonly responses: ReadonlyMap<string, number>;
  /** What succeeded, and why an attack could not run. */
  readonly broken: readonly string[];
};

/** Runs one attack. An attack without an attempt is broken: it cannot show anything. */
export async function runAttack(
  { item, name, run }: Attack,
  platforms: Platforms,
  chance: SeededRandom,
): Promise<Outcome> {
  const responses = new Map<string, number>();
  const broken: string[] = [];
  const beganMs = performance.now();
  let attempts = 0;
  try {
    await run(
      {
        chance,
        record({ what, response, isHeld }) {
          attempts += 1;
          responses.set(response, (responses.get(response) ?? 0) + 1);
          if (!isHeld) broken.push(`${what}: ${response}`);
        },
        requireControl(what, isMet) {
          if (!isMet) broken.push(`control failed: ${what}`);
        },
      },
      platforms,
    );
    if (attempts === 0) broken.push('nothing was attempted');
  } catch (error) {
    broken.push(`the attack could not run: ${error instanceof Error ? error.stack : error}`);
  }
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  return { item, name, attempts, seconds, responses, broken };
}
