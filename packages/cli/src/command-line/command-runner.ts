/** Binds commands to the world: each action gets its screen and, once it asks, its session. */
import type { Command } from 'commander';
import type { Api } from '../http/api-client.ts';
import { createScreen, type Screen } from '../output/output.ts';
import { CommandFault } from '../runtime/command-error.ts';
import { type ExitName, exitCodes } from '../runtime/exit-codes.ts';
import type { World } from '../runtime/runtime-environment.ts';
import type { Profile } from '../session/profiles.ts';
import { openSession, type Session, type SessionOptions, sessionOf } from '../session/session.ts';

export type GlobalOptions = {
  readonly profile?: string;
  readonly organization?: string;
  readonly json?: boolean;
  readonly color: boolean;
  readonly quiet?: boolean;
  readonly timeout: number;
};

export type Kit = {
  readonly world: World;
  readonly screen: Screen;
  readonly globals: GlobalOptions;
  /** Opened by the first who asks. */
  session(): Session;
  api(): Api;
  /** A session of a profile that nobody has kept yet. */
  sessionOf(name: string, profile: Profile): Session;
};

type Work<Options> = (kit: Kit, args: string[], options: Options) => Promise<ExitName | undefined>;

export type Runner = {
  /** Turns work into the action of a command. `finishes`: it ends by itself when it is told to stop. */
  act<Options>(
    work: Work<Options>,
    how?: { finishes?: boolean },
  ): (...all: unknown[]) => Promise<void>;
  exitCode(): number;
};

function stopped(stopping: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(new CommandFault('interrupted', 'Interrupted.'));
    if (stopping.aborted) stop();
    else stopping.addEventListener('abort', stop, { once: true });
  });
}

function createKit(world: World, globals: GlobalOptions) {
  const { json = false, color, quiet = false, timeout } = globals;
  const screen = createScreen(world, { json, color, quiet });
  const options: SessionOptions = {
    profile: globals.profile,
    timeoutMs: timeout * 1000,
    organizationId: globals.organization,
  };
  const opened: Session[] = [];
  const open = (session: Session) => {
    opened.push(session);
    return session;
  };
  const session = () => opened[0] ?? open(openSession(world, options));
  const kit: Kit = {
    world,
    screen,
    globals,
    session,
    api: () => session().api,
    sessionOf: (name, profile) => open(sessionOf(world, name, profile, options)),
  };
  const close = () => {
    for (const each of opened) each.close();
  };
  return { kit, close };
}

/** @example const runner = createRunner(world); */
export function createRunner(world: World): Runner {
  let code: number = exitCodes.done;
  return {
    act<Options>(work: Work<Options>, { finishes = false } = {}) {
      return async (...all) => {
        const command = all.at(-1) as Command;
        const { kit, close } = createKit(world, command.optsWithGlobals<GlobalOptions>());
        const args = command.processedArgs.flat().filter((arg) => arg !== undefined) as string[];
        try {
          const running = work(kit, args, command.opts() as Options);
          const exit = await (finishes
            ? running
            : Promise.race([running, stopped(world.stopping)]));
          code = exitCodes[exit ?? 'done'];
        } catch (error) {
          code = kit.screen.fault(error);
        } finally {
          close();
        }
      };
    },
    exitCode: () => code,
  };
}
