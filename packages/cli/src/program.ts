/** Creates the `switchyard` program with all its commands. */
import { readFileSync } from 'node:fs';
import { Command, Help, Option } from 'commander';
import { addCommands, type CommandDefinition } from './command-line/command-definition.ts';
import type { CommandRunner } from './command-line/command-runner.ts';
import { parseWholeNumber } from './command-line/list-options.ts';
import { applicationCommands } from './commands/access/application-commands.ts';
import { loginCommands } from './commands/access/login-commands.ts';
import { userCommands } from './commands/access/user-commands.ts';
import { acquirerCommands } from './commands/conformance/acquirer-commands.ts';
import { providerCommands } from './commands/conformance/provider-commands.ts';
import { dialectCommands } from './commands/dialect/dialect-commands.ts';
import { apiCommand } from './commands/operations/api-command.ts';
import { auditCommands } from './commands/operations/audit-commands.ts';
import { numberingCommands } from './commands/operations/numbering-commands.ts';
import { logCommands } from './commands/operations/request-log-commands.ts';
import { posCommands } from './commands/point-of-sale/pos-management-commands.ts';
import { terminalCommands } from './commands/point-of-sale/simulate-terminal-command.ts';
import { configurationCommands } from './commands/provisioning/configuration-commands.ts';
import { deviceCommands } from './commands/provisioning/device-commands.ts';
import { estateCommands } from './commands/provisioning/estate-commands.ts';
import { searchCommand } from './commands/provisioning/search-command.ts';
import { serviceCommands } from './commands/provisioning/service-commands.ts';
import { webhookCommands } from './commands/webhooks/webhook-endpoint-commands.ts';
import type { RuntimeEnvironment } from './runtime/runtime-environment.ts';

/** The commands that only a server installation has, by their group. */
export type ServerCommands = Readonly<Record<'admin' | 'acquirer', readonly CommandDefinition[]>>;

const noServerCommands: ServerCommands = { admin: [], acquirer: [] };

export const commandDefinitions = (
  serverCommands: ServerCommands = noServerCommands,
): readonly CommandDefinition[] => [
  ...loginCommands,
  estateCommands,
  userCommands,
  applicationCommands,
  posCommands,
  deviceCommands,
  serviceCommands,
  configurationCommands,
  searchCommand,
  auditCommands,
  {
    group: 'admin',
    summary: 'commands of the platform operator',
    description: 'Commands of the platform operator.',
    commands: [...numberingCommands, ...serverCommands.admin],
  },
  webhookCommands,
  logCommands,
  { ...acquirerCommands, commands: [...acquirerCommands.commands, ...serverCommands.acquirer] },
  dialectCommands,
  providerCommands,
  terminalCommands,
  apiCommand,
];

const timeoutSeconds = 30;

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version, gitHead } = JSON.parse(text) as { version: string; gitHead?: string };
  // Only a release has a commit.
  return [version, gitHead].filter(Boolean).join(' ');
}

/** A SHA-256 thumbprint in base64url; one of 64 begins with `-`, like an option. */
const dashedThumbprint = /^-[\w-]{42}$/;

/** A public key begins with `-` as often; commander would read `-q…` as the option --quiet. */
function joinDashedKey(args: readonly string[]): readonly string[] {
  const at = args.indexOf('--acquirer-key');
  const key = args[at + 1];
  if (at === -1 || key === undefined || !dashedThumbprint.test(key)) return args;
  return [...args.slice(0, at), `--acquirer-key=${key}`, ...args.slice(at + 2)];
}

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
  serverCommands?: ServerCommands,
): Promise<void> {
  const program = createProgram(environment, runner, serverCommands);
  await program.parseAsync(thumbprintsLast(joinDashedKey(args)), { from: 'user' });
}

/** All commands with their options and help texts. */
export function createProgram(
  environment: Pick<RuntimeEnvironment, 'stdout' | 'stderr'>,
  runner: CommandRunner,
  serverCommands?: ServerCommands,
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
  addCommands(program, runner, commandDefinitions(serverCommands));
  return program;
}
