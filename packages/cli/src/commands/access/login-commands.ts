/** `switchyard login`, `logout`, `whoami`, `token` and `profiles`. */

import { resolve } from 'node:path';
import { defined } from '@switchyard/contract';
import { type Command, Option } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import { requireSecureUrl } from '../../http/https-transport.ts';
import { promptSecret } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import {
  type ClientSecretSource,
  demoProfile,
  openProfiles,
  type Profile,
  requireProfileName,
} from '../../session/profiles.ts';
import type { Session } from '../../session/session.ts';
import { openTokenStore } from '../../session/token-store.ts';
import { loginWithBrowser } from './browser-login.ts';
import { loginWithPassword } from './password-login.ts';

type LoginOptions = {
  readonly url?: string;
  readonly authUrl?: string;
  readonly userDomain?: string;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
  readonly caFile?: string;
  readonly demo?: string | true;
  readonly application: string;
  readonly web?: boolean;
  readonly username?: string;
  readonly redirectUri: string;
  readonly as?: string;
};

const defaultDemoFolder = '.switchyard';
/** Each user domain has this application for users of the command line. */
const defaultApplication = 'switchyard-cli';

function parseOrigin(text: string): string {
  try {
    const url = new URL(text);
    requireSecureUrl(url);
    return url.origin;
  } catch (error) {
    if (error instanceof TypeError)
      return fail('usage', `“${text}” is not a valid URL. Enter one such as https://pay.example.`);
    throw error;
  }
}

async function clientSecretSource(
  { environment }: CommandContext,
  options: LoginOptions,
): Promise<ClientSecretSource> {
  if (options.web || options.username !== undefined) return { kind: 'Person' };
  if (options.clientSecretFile !== undefined)
    return { kind: 'File', file: resolve(options.clientSecretFile) };
  const secretFromEnvironment = environment.env['SWITCHYARD_CLI_CLIENT_SECRET'];
  const value = (
    secretFromEnvironment ?? (await promptSecret(environment, 'Client secret: '))
  ).trim();
  return value === ''
    ? fail(
        'usage',
        'The client secret is empty. Enter it, or name a file with --client-secret-file.',
      )
    : { kind: 'Stored', value };
}

async function profileFrom(context: CommandContext, options: LoginOptions): Promise<Profile> {
  if (options.demo !== undefined) {
    const folder =
      options.demo === true
        ? (context.environment.env['SWITCHYARD_DATA_DIR'] ?? defaultDemoFolder)
        : options.demo;
    return demoProfile(resolve(folder, 'demo.json'), options.application);
  }
  const isUserLogin = options.web || options.username !== undefined;
  const required = isUserLogin
    ? (['url', 'userDomain'] as const)
    : (['url', 'userDomain', 'clientId'] as const);
  const missing = required.filter((name) => options[name] === undefined);
  if (missing.length > 0) {
    const names = missing.map(
      (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    );
    fail(
      'usage',
      `Missing options: ${names.join(' ')}`,
      'To use the demo environment instead: switchyard login --demo',
    );
  }
  const url = parseOrigin(options.url ?? '');
  return {
    url,
    authUrl: options.authUrl === undefined ? url : parseOrigin(options.authUrl),
    userDomainId: options.userDomain ?? '',
    clientId: options.clientId ?? defaultApplication,
    ...defined({ caFile: options.caFile === undefined ? undefined : resolve(options.caFile) }),
    secret: await clientSecretSource(context, options),
  };
}

async function describeIdentity(session: Session) {
  const { profile, profileName } = session;
  const { permissions, ...claims } = await session.claims();
  return {
    profile: profileName,
    url: profile.url,
    clientId: profile.clientId,
    ...claims,
    permissions,
  };
}

async function login(context: CommandContext, options: LoginOptions): Promise<undefined> {
  const name = requireProfileName(options.as ?? context.globals.profile ?? 'default');
  const profile = await profileFrom(context, options);
  const session = context.createSession(name, profile);
  if (options.username !== undefined) await loginWithPassword(context, profile, options.username);
  else if (profile.secret.kind === 'Person')
    await loginWithBrowser(context, profile, options.redirectUri);
  // A profile is saved only after a successful sign-in.
  const identity = await describeIdentity(session);
  openProfiles(context.environment).save(name, profile);
  context.output.printResult(
    identity,
    () =>
      `Signed in to ${identity.url} as ${identity.name ?? identity.clientId} (profile ${name}).\n`,
  );
  return undefined;
}

function addLogin(program: Command, { toAction }: CommandRunner): void {
  program
    .command('login')
    .summary('sign in and save a profile')
    .description(
      'Signs in and saves a profile that only you can read. Without --web and --username, an application signs in with its client id and client secret. The secret comes from a hidden prompt, from --client-secret-file or from SWITCHYARD_CLI_CLIENT_SECRET. Users sign in through the application switchyard-cli, or the one of --client-id.',
    )
    .option('--url <address>', 'address of the platform')
    .option('--auth-url <address>', 'address of the authorization server, if it differs from --url')
    .option('--user-domain <id>', 'user domain (realm)')
    .option('--client-id <id>', 'client id of the application')
    .option(
      '--client-secret-file <file>',
      'file with the client secret; the command reads it at each use',
    )
    .option('--ca-file <file>', 'certificate authority of the platform, as PEM')
    .addOption(
      new Option(
        '--demo [folder]',
        'sign in as an application of the demo environment in this folder',
      ).conflicts(['url', 'web']),
    )
    .option('--application <name>', 'application of the demo environment', 'acquirer')
    .option('--web', 'sign in as a user in the browser')
    .addOption(
      new Option(
        '--username <name>',
        'sign in as this user with password and one-time code',
      ).conflicts(['web', 'demo']),
    )
    .option(
      '--redirect-uri <address>',
      'redirect URI of the sign-in in the browser',
      'http://localhost:8976/callback',
    )
    .option('--as <profile>', 'name of the saved profile')
    .addHelpText(
      'after',
      `
Examples:
  $ switchyard login --demo
  $ switchyard login --url https://pay.example --user-domain northgate --client-id estate
  $ switchyard login --web --url https://pay.example --user-domain northgate --as me`,
    )
    .action(toAction<LoginOptions>((context, _args, options) => login(context, options)));
}

async function logout({ environment, output, globals }: CommandContext): Promise<undefined> {
  const profiles = openProfiles(environment);
  const name = globals.profile ?? profiles.current();
  const profile = name === undefined ? undefined : profiles.find(name);
  if (name === undefined || profile === undefined)
    return fail(
      'notFound',
      'There is no such profile. List the profiles: switchyard profiles list',
    );
  openTokenStore(environment, profile).deleteTokens();
  profiles.remove(name);
  output.printResult({ removed: name }, () => `Removed the profile ${name} and its tokens.\n`);
  return undefined;
}

function addProfiles(program: Command, { toAction }: CommandRunner): void {
  const profiles = program
    .command('profiles')
    .summary('list and select profiles')
    .description('Lists and selects profiles.');
  profiles
    .command('list')
    .description('Lists the profiles. A star marks the current one.')
    .action(
      toAction(async ({ environment, output }) => {
        const savedProfiles = openProfiles(environment);
        const current = savedProfiles.current();
        const items = savedProfiles.names().map((name) => {
          const { url, userDomainId, clientId } = savedProfiles.find(name) as Profile;
          return { name, current: name === current, url, userDomainId, clientId };
        });
        output.printResult({ items }, () =>
          output.formatTable(
            [
              { title: '', value: (row) => (row.current ? '*' : ' ') },
              { title: 'PROFILE', value: (row) => row.name },
              { title: 'URL', value: (row) => row.url },
              { title: 'USER DOMAIN', value: (row) => row.userDomainId },
              { title: 'CLIENT', value: (row) => row.clientId },
            ],
            items,
          ),
        );
        return undefined;
      }),
    );
  profiles
    .command('use <name>')
    .description('Selects the current profile.')
    .action(
      toAction(async ({ environment, output }, [name = '']) => {
        const savedProfiles = openProfiles(environment);
        if (savedProfiles.find(name) === undefined)
          fail(
            'notFound',
            `There is no profile “${name}”. List the profiles: switchyard profiles list`,
          );
        savedProfiles.select(name);
        output.printResult({ current: name }, () => `The current profile is ${name}.\n`);
        return undefined;
      }),
    );
}

export function addLoginCommands(program: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  addLogin(program, runner);
  program
    .command('logout')
    .summary('remove a profile and its tokens')
    .description('Removes the profile and its tokens from this machine.')
    .action(toAction((context) => logout(context)));
  program
    .command('whoami')
    .summary('show the signed-in user or application')
    .description('Shows the signed-in user or application, the platform and the permissions.')
    .action(
      toAction(async (context) => {
        const identity = await describeIdentity(context.session());
        context.output.printResult(identity, () => context.output.formatMembers(identity));
        return undefined;
      }),
    );
  addProfiles(program, runner);
  program
    .command('token')
    .summary('print the access token')
    .description('Prints the access token for other programs.')
    .command('print')
    .description('Prints the access token. Keep it secret: it grants your permissions.')
    .action(
      toAction(async ({ session, output }) => {
        const token = await session().token();
        output.printResult({ token }, () => `${token}\n`);
        return undefined;
      }),
    );
}
