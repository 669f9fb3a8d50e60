/** The whole command line, put together from its groups. */
import { readFileSync } from 'node:fs';
import { Command, Help, Option } from 'commander';
import type { Runner } from './command-line/command-runner.ts';
import { wholeNumber } from './command-line/list-options.ts';
import { addAppCommands, addPosCommands } from './commands/access/application-commands.ts';
import { addLoginCommands } from './commands/access/login-commands.ts';
import { addUserCommands } from './commands/access/user-commands.ts';
import { addAcquirerCommands } from './commands/conformance/acquirer-commands.ts';
import { addProviderCommands } from './commands/conformance/provider-commands.ts';
import { addAdminCommands } from './commands/operations/admin-commands.ts';
import { addApiCommand } from './commands/operations/api-command.ts';
import { addAuditCommands } from './commands/operations/audit-commands.ts';
import { addLogCommands } from './commands/operations/request-log-commands.ts';
import { addTerminalCommands } from './commands/point-of-sale/terminal-commands.ts';
import { addConfigCommands } from './commands/provisioning/configuration-commands.ts';
import { addDeviceCommands } from './commands/provisioning/device-commands.ts';
import { addEstateCommands } from './commands/provisioning/estate-commands.ts';
import { addSearchCommand } from './commands/provisioning/search-command.ts';
import { addServiceCommands } from './commands/provisioning/service-commands.ts';
import { addWebhookCommands } from './commands/webhooks/webhook-endpoint-commands.ts';
import type { World } from './runtime/runtime-environment.ts';

const timeoutSeconds = 30;

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A SHA-256 in base64url, which one time in 64 begins as an option does. */
const dashedThumbprint = /^-[\w-]{42}$/;

/** Behind `--` nothing is taken for an option; a thumbprint is the last that its command takes. */
function thumbprintsLast(args: readonly string[]): readonly string[] {
  const thumbprints = args.filter((arg) => dashedThumbprint.test(arg));
  const isRevoked = args.some((arg, at) => arg === 'devices' && args[at + 1] === 'revoke');
  if (!isRevoked || thumbprints.length === 0 || args.includes('--')) return args;
  return [...args.filter((arg) => !dashedThumbprint.test(arg)), '--', ...thumbprints];
}

/**
 * @param args what was typed behind the name of the command
 * @throws CommanderError where they mean nothing, or help or the version were asked for
 * @example await runLine(world, createRunner(world), process.argv.slice(2));
 */
export async function runLine(
  world: Pick<World, 'stdout' | 'stderr'>,
  runner: Runner,
  args: readonly string[],
): Promise<void> {
  await createProgram(world, runner).parseAsync(thumbprintsLast(args), { from: 'user' });
}

/** All commands with their options and help; `runLine` runs one. */
export function createProgram(world: Pick<World, 'stdout' | 'stderr'>, runner: Runner): Command {
  const help = new Help();
  const program = new Command('switchyard')
    .description('Works with a Switchyard platform from the command line.')
    .version(versionOfPackage())
    .option('--profile <name>', 'whose sign-in to use; SWITCHYARD_CLI_PROFILE says the same')
    .option('--organization <id>', 'act in this organisation, which lies below your own')
    .option('--json', 'results as JSON on stdout, faults as JSON on stderr')
    .option('--no-color', 'no colours; NO_COLOR says the same')
    .option('-q, --quiet', 'no progress and no remarks')
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait for an answer')
        .argParser(wholeNumber)
        .default(timeoutSeconds),
    )
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
    })
    .configureHelp({
      showGlobalOptions: false,
      optionDescription(option) {
        const said = help.optionDescription(option);
        return option.mandatory ? `${said} (required)` : said;
      },
    })
    .helpCommand(false)
    .showHelpAfterError('  With --help it tells what it takes.')
    .exitOverride();
  addLoginCommands(program, runner);
  addEstateCommands(program, runner);
  addUserCommands(program, runner);
  addAppCommands(program, runner);
  addPosCommands(program, runner);
  addDeviceCommands(program, runner);
  addServiceCommands(program, runner);
  addConfigCommands(program, runner);
  addSearchCommand(program, runner);
  addAuditCommands(program, runner);
  addAdminCommands(program, runner);
  addWebhookCommands(program, runner);
  addLogCommands(program, runner);
  addAcquirerCommands(program, runner);
  addProviderCommands(program, runner);
  addTerminalCommands(program, runner);
  addApiCommand(program, runner);
  return program;
}
