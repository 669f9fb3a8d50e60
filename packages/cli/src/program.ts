/** Creates the `switchyard` program with all its commands. */
import { readFileSync } from 'node:fs';
import { Command, Help, Option } from 'commander';
import type { CommandRunner } from './command-line/command-runner.ts';
import { parseWholeNumber } from './command-line/list-options.ts';
import { addAppCommands } from './commands/access/application-commands.ts';
import { addLoginCommands } from './commands/access/login-commands.ts';
import { addUserCommands } from './commands/access/user-commands.ts';
import { addAcquirerCommands } from './commands/conformance/acquirer-commands.ts';
import { addProviderCommands } from './commands/conformance/provider-commands.ts';
import { addAdminCommands } from './commands/operations/admin-commands.ts';
import { addApiCommand } from './commands/operations/api-command.ts';
import { addAuditCommands } from './commands/operations/audit-commands.ts';
import { addLogCommands } from './commands/operations/request-log-commands.ts';
import { addPosCommands } from './commands/point-of-sale/pos-management-commands.ts';
import { addTerminalCommands } from './commands/point-of-sale/terminal-commands.ts';
import { addConfigCommands } from './commands/provisioning/configuration-commands.ts';
import { addDeviceCommands } from './commands/provisioning/device-commands.ts';
import { addEstateCommands } from './commands/provisioning/estate-commands.ts';
import { addSearchCommand } from './commands/provisioning/search-command.ts';
import { addServiceCommands } from './commands/provisioning/service-commands.ts';
import { addWebhookCommands } from './commands/webhooks/webhook-endpoint-commands.ts';
import type { RuntimeEnvironment } from './runtime/runtime-environment.ts';

const timeoutSeconds = 30;

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** A SHA-256 thumbprint in base64url; one of 64 begins with `-`, like an option. */
const dashedThumbprint = /^-[\w-]{42}$/;

/** Moves such a thumbprint after `--`, where commander does not read it as an option. */
function thumbprintsLast(args: readonly string[]): readonly string[] {
  const thumbprints = args.filter((arg) => dashedThumbprint.test(arg));
  const isRevoked = args.some((arg, at) => arg === 'devices' && args[at + 1] === 'revoke');
  if (!isRevoked || thumbprints.length === 0 || args.includes('--')) return args;
  return [...args.filter((arg) => !dashedThumbprint.test(arg)), '--', ...thumbprints];
}

/**
 * @param args the arguments after the name of the program
 * @throws CommanderError if they are invalid, or for --help and --version
 * @example await runCommandLine(environment, createCommandRunner(environment), process.argv.slice(2));
 */
export async function runCommandLine(
  environment: Pick<RuntimeEnvironment, 'stdout' | 'stderr'>,
  runner: CommandRunner,
  args: readonly string[],
): Promise<void> {
  await createProgram(environment, runner).parseAsync(thumbprintsLast(args), { from: 'user' });
}

/** All commands with their options and help texts. */
export function createProgram(
  environment: Pick<RuntimeEnvironment, 'stdout' | 'stderr'>,
  runner: CommandRunner,
): Command {
  const help = new Help();
  const program = new Command('switchyard')
    .description('Command-line client of a Switchyard payment platform.')
    .version(versionOfPackage())
    .option('--profile <name>', 'use this saved sign-in; same as SWITCHYARD_CLI_PROFILE')
    .option('--organization <id>', 'act in this organisation, which must be below your own')
    .option('--json', 'print results as JSON on stdout and errors as JSON on stderr')
    .option('--no-color', 'print no colours; same as NO_COLOR')
    .option('-q, --quiet', 'print no progress and no notes')
    .addOption(
      new Option('--timeout <seconds>', 'how long to wait for a response')
        .argParser(parseWholeNumber)
        .default(timeoutSeconds),
    )
    .configureOutput({
      writeOut: (text) => void environment.stdout.write(text),
      writeErr: (text) => void environment.stderr.write(text),
    })
    .configureHelp({
      showGlobalOptions: false,
      optionDescription(option) {
        const description = help.optionDescription(option);
        return option.mandatory ? `${description} (required)` : description;
      },
    })
    .helpCommand(false)
    .showHelpAfterError('  Run the command with --help to see its arguments and options.')
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
