/** Runs the handler of a command: creates its context, prints its error and sets the exit code. */
import type { Command } from 'commander';
import type { ApiClient } from '../http/api-client.ts';
import { createOutput, type Output } from '../output/output.ts';
import { CommandError } from '../runtime/command-error.ts';
import { type ExitName, exitCodes } from '../runtime/exit-codes.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import type { Profile } from '../session/profiles.ts';
import {
  createSession,
  openSession,
  type Session,
  type SessionOptions,
} from '../session/session.ts';

export type GlobalOptions = {
  readonly profile?: string;
  readonly organization?: string;
  readonly json?: boolean;
  readonly color: boolean;
  readonly quiet?: boolean;
  readonly timeout: number;
};

export type CommandContext = {
  readonly environment: RuntimeEnvironment;
  readonly output: Output;
  readonly globals: GlobalOptions;
  /** The session of the chosen profile; created at the first call. */
  session(): Session;
  api(): ApiClient;
  /** A session of a profile that is not saved yet. */
  createSession(name: string, profile: Profile): Session;
};

/** The exit code; without one the command is done. */
export type CommandResult = Promise<ExitName | undefined> | Promise<void>;

type CommandHandler = (
  context: CommandContext,
  args: string[],
  options: Readonly<Record<string, unknown>>,
) => CommandResult;

export type CommandRunner = {
  /** Turns a handler into the action of a command. With `finishes` the handler ends by itself after Ctrl+C. */
  toAction(
    handler: CommandHandler,
    behaviour: { readonly finishes: boolean },
  ): (...commanderArgs: unknown[]) => Promise<void>;
  exitCode(): number;
};

function rejectWhenStopped(stopping: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = () => reject(new CommandError('interrupted', 'Interrupted.'));
    if (stopping.aborted) stop();
    else stopping.addEventListener('abort', stop, { once: true });
  });
}

function createCommandContext(environment: RuntimeEnvironment, globals: GlobalOptions) {
  const { json = false, color, quiet = false, timeout } = globals;
  const output = createOutput(environment, { json, color, quiet });
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
  const session = () => opened[0] ?? open(openSession(environment, options));
  const context: CommandContext = {
    environment,
    output,
    globals,
    session,
    api: () => session().api,
    createSession: (name, profile) => open(createSession(environment, name, profile, options)),
  };
  const close = () => {
    for (const session of opened) session.close();
  };
  return { context, close };
}

/** @example const runner = createCommandRunner(environment); */
export function createCommandRunner(environment: RuntimeEnvironment): CommandRunner {
  let code: number = exitCodes.done;
  return {
    toAction(handler, { finishes }) {
      return async (...commanderArgs) => {
        const command = commanderArgs.at(-1) as Command;
        const { context, close } = createCommandContext(
          environment,
          command.optsWithGlobals<GlobalOptions>(),
        );
        const args = command.processedArgs.flat().filter((arg) => arg !== undefined) as string[];
        try {
          const running = handler(context, args, command.opts());
          const exit = await (finishes
            ? running
            : Promise.race([running, rejectWhenStopped(environment.stopping)]));
          code = exitCodes[exit ?? 'done'];
        } catch (error) {
          code = context.output.printError(error);
        } finally {
          close();
        }
      };
    },
    exitCode: () => code,
  };
}
