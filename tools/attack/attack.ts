// An attack: attempts, each with a response, and the check whether the platform defended itself.
import type { SeededRandom } from '../../packages/server/test/support/seeded-random.ts';
import type { Platforms } from './platforms.ts';

export type Attack = {
  /** The item of the security review to which the attack belongs. */
  readonly item: number;
  readonly name: string;
  run(attempts: Attempts, platforms: Platforms): Promise<void>;
};

export type Attempts = {
  readonly random: SeededRandom;
  /** Records one attempt. @param description - names the request; equal responses are counted together, so they name no identifiers */
  record(attempt: { description: string; response: string; isDefended: boolean }): void;
  /** Records a precondition without which the attack would prove nothing. */
  requireControl(description: string, isMet: boolean): void;
};

export type Outcome = {
  readonly item: number;
  readonly name: string;
  readonly attempts: number;
  readonly seconds: number;
  /** How often each response came. */
  readonly responses: ReadonlyMap<string, number>;
  /** What succeeded, and why an attack could not run. */
  readonly failures: readonly string[];
};

/** Runs one attack. An attack without an attempt fails, since it shows nothing. */
export async function runAttack(
  { item, name, run }: Attack,
  platforms: Platforms,
  random: SeededRandom,
): Promise<Outcome> {
  const responses = new Map<string, number>();
  const failures: string[] = [];
  const beganMs = performance.now();
  let attempts = 0;
  try {
    await run(
      {
        random,
        record({ description, response, isDefended }) {
          attempts += 1;
          responses.set(response, (responses.get(response) ?? 0) + 1);
          if (!isDefended) failures.push(`${description}: ${response}`);
        },
        requireControl(description, isMet) {
          if (!isMet) failures.push(`control failed: ${description}`);
        },
      },
      platforms,
    );
    if (attempts === 0) failures.push('nothing was attempted');
  } catch (error) {
    failures.push(`the attack could not run: ${error instanceof Error ? error.stack : error}`);
  }
  const seconds = Math.round((performance.now() - beganMs) / 1000);
  return { item, name, attempts, seconds, responses, failures };
}
