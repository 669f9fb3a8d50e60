/** `switchyard login`, `logout`, `whoami`, `token` and `profiles`. */
import { resolve } from 'node:path';
import { defined, readDataDirectory } from '@switchyard/contract';
import type { CommandDefinition } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { requireSecureUrl } from '../../http/https-transport.ts';
import { promptSecret, promptSecrets } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import type { RuntimeEnvironment } from '../../runtime/runtime-environment.ts';
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
      options.demo === true ? readDataDirectory(context.environment.env) : options.demo;
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

async function login(
  context: CommandContext,
  _args: string[],
  options: LoginOptions,
): Promise<void> {
  const name = requireProfileName(options.as ?? context.globals.profile ?? 'default');
  const profile = await profileFrom(context, options);
  const session = context.createSession(name, profile);
  if (options.username !== undefined)
    await loginWithPassword(context.environment, session, options.username);
  else if (profile.secret.kind === 'Person')
    await loginWithBrowser(context, session, options.redirectUri);
  // A profile is saved only after a successful sign-in.
  const identity = await describeIdentity(session);
  openProfiles(context.environment).save(name, profile);
  context.output.printResult(
    identity,
    () =>
      `Signed in to ${identity.url} as ${identity.name ?? identity.clientId} (profile ${name}).\n`,
  );
}

async function logout({ environment, output, globals }: CommandContext): Promise<void> {
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
}

async function printIdentity({ session, output }: CommandContext): Promise<void> {
  const identity = await describeIdentity(session());
  output.printResult(identity, () => output.formatMembers(identity));
}

async function printToken({ session, output }: CommandContext): Promise<void> {
  const token = await session().token();
  output.printResult({ token }, () => `${token}\n`);
}

async function listProfiles({ environment, output }: CommandContext): Promise<void> {
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
        'url',
        { title: 'USER DOMAIN', value: (row) => row.userDomainId },
        { title: 'CLIENT', value: (row) => row.clientId },
      ],
      items,
    ),
  );
}

async function selectProfile(
  { environment, output }: CommandContext,
  [name = '']: string[],
): Promise<void> {
  const savedProfiles = openProfiles(environment);
  if (savedProfiles.find(name) === undefined)
    fail('notFound', `There is no profile “${name}”. List the profiles: switchyard profiles list`);
  savedProfiles.select(name);
  output.printResult({ current: name }, () => `The current profile is ${name}.\n`);
}

const loginCommand: CommandDefinition = {
  command: 'login',
  summary: 'sign in and save a profile',
  description:
    'Signs in and saves a profile that only you can read. An application signs in with --client-id and its client secret. The secret comes from a hidden prompt, from --client-secret-file or from SWITCHYARD_CLI_CLIENT_SECRET. A user signs in with --web or --username, through the application switchyard-cli or the application of --client-id.',
  options: [
    option('--url <address>', 'address of the platform'),
    option('--auth-url <address>', 'address of the authorization server, if it differs from --url'),
    option('--user-domain <id>', 'user domain (realm)'),
    option('--client-id <id>', 'client id of the application'),
    option(
      '--client-secret-file <file>',
      'file with the client secret; the command reads it at each use',
    ),
    option('--ca-file <file>', 'certificate authority of the platform, as PEM'),
    option('--demo [folder]', 'sign in as an application of the demo environment in this folder', {
      conflicts: ['url', 'web'],
    }),
    option('--application <name>', 'application of the demo environment', {
      default: 'acquirer',
    }),
    option('--web', 'sign in as a user in the browser'),
    option('--username <name>', 'sign in as this user with password and one-time code', {
      conflicts: ['web', 'demo'],
    }),
    option('--redirect-uri <address>', 'redirect URI of the sign-in in the browser', {
      default: 'http://localhost:8976/callback',
    }),
    option('--as <profile>', 'save the profile under this name'),
  ],
  run: login,
  examples: [
    'switchyard login --demo',
    'switchyard login --url https://pay.example --user-domain northgate --client-id estate',
    'switchyard login --web --url https://pay.example --user-domain northgate --as me',
  ],
};

export const loginCommands: readonly CommandDefinition[] = [
  loginCommand,
  {
    command: 'logout',
    summary: 'remove a profile and its tokens',
    description: 'Removes the profile and its tokens from this machine.',
    run: logout,
  },
  {
    command: 'whoami',
    summary: 'show the signed-in user or application',
    description: 'Shows the signed-in user or application, the platform and the permissions.',
    run: printIdentity,
  },
  {
    group: 'profiles',
    summary: 'list and select profiles',
    description: 'Lists and selects profiles.',
    commands: [
      {
        command: 'list',
        description: 'Lists the profiles. A star marks the current one.',
        run: listProfiles,
      },
      {
        command: 'use <name>',
        description: 'Selects the current profile.',
        run: selectProfile,
      },
    ],
  },
  {
    group: 'token',
    summary: 'print the access token',
    description: 'Prints the access token for other programs.',
    commands: [
      {
        command: 'print',
        description: 'Prints the access token. Keep it secret: it grants your permissions.',
        run: printToken,
      },
    ],
  },
];

async function loginWithPassword(
  environment: RuntimeEnvironment,
  session: Session,
  username: string,
): Promise<void> {
  const [password = '', code = ''] = await promptSecrets(environment, [
    'Password: ',
    'One-time code (leave empty if you have none): ',
  ]);
  if (password === '') fail('usage', 'The password is empty. Enter your password.');
  await session.signIn({
    grant_type: 'password',
    username,
    password,
    scope: 'openid profile',
    ...(code.trim() === '' ? {} : { totp: code.trim() }),
  });
}
