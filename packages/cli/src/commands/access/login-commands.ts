/** Signing in and out: profiles, and who one is. */

import { resolve } from 'node:path';
import { defined } from '@switchyard/contract';
import { type Command, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { demandSafe } from '../../http/https-transport.ts';
import { askSecret } from '../../output/prompt.ts';
import { fail } from '../../runtime/command-error.ts';
import {
  demandProfileName,
  demoProfile,
  openProfiles,
  type Profile,
  type Secret,
} from '../../session/profiles.ts';
import type { Session } from '../../session/session.ts';
import { openTokenStore } from '../../session/token-store.ts';
import { signInByWeb } from './browser-login.ts';
import { signInByPassword } from './password-login.ts';

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

const demoFolder = '.switchyard';
/** Made with each user domain, for people who use this command. */
const ownApplication = 'switchyard-cli';

function addressOf(text: string): string {
  try {
    const url = new URL(text);
    demandSafe(url);
    return url.origin;
  } catch (error) {
    if (error instanceof TypeError) return fail('usage', `“${text}” is no address.`);
    throw error;
  }
}

async function secretFor({ world }: Kit, options: LoginOptions): Promise<Secret> {
  if (options.web || options.username !== undefined) return { kind: 'Person' };
  if (options.clientSecretFile !== undefined)
    return { kind: 'File', file: resolve(options.clientSecretFile) };
  const given = world.env['SWITCHYARD_CLI_CLIENT_SECRET'];
  const value = (given ?? (await askSecret(world, 'Client secret: '))).trim();
  return value === '' ? fail('usage', 'No client secret was given.') : { kind: 'Stored', value };
}

async function profileFrom(kit: Kit, options: LoginOptions): Promise<Profile> {
  if (options.demo !== undefined) {
    const folder =
      options.demo === true ? (kit.world.env['SWITCHYARD_DATA_DIR'] ?? demoFolder) : options.demo;
    return demoProfile(resolve(folder, 'demo.json'), options.application);
  }
  const isPerson = options.web || options.username !== undefined;
  const needed = isPerson
    ? (['url', 'userDomain'] as const)
    : (['url', 'userDomain', 'clientId'] as const);
  const missing = needed.filter((name) => options[name] === undefined);
  if (missing.length > 0) {
    const names = missing.map(
      (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    );
    fail(
      'usage',
      `Needed as well: ${names.join(' ')}`,
      'Or try the demo environment: switchyard login --demo',
    );
  }
  const url = addressOf(options.url ?? '');
  return {
    url,
    authUrl: options.authUrl === undefined ? url : addressOf(options.authUrl),
    userDomainId: options.userDomain ?? '',
    clientId: options.clientId ?? ownApplication,
    ...defined({ caFile: options.caFile === undefined ? undefined : resolve(options.caFile) }),
    secret: await secretFor(kit, options),
  };
}

async function identityOf(session: Session) {
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

async function login(kit: Kit, options: LoginOptions): Promise<undefined> {
  const name = demandProfileName(options.as ?? kit.globals.profile ?? 'default');
  const profile = await profileFrom(kit, options);
  const session = kit.sessionOf(name, profile);
  if (options.username !== undefined) await signInByPassword(kit, profile, options.username);
  else if (profile.secret.kind === 'Person') await signInByWeb(kit, profile, options.redirectUri);
  // Whoever is not let in is not kept either.
  const who = await identityOf(session);
  openProfiles(kit.world).keep(name, profile);
  kit.screen.result(
    who,
    () => `Signed in to ${who.url} as ${who.name ?? who.clientId} (profile ${name}).\n`,
  );
  return undefined;
}

function addLogin(program: Command, { act }: Runner): void {
  program
    .command('login')
    .summary('sign in, and keep it as a profile')
    .description(
      'Signs in and keeps it as a profile, for you alone. Without --web and --username an application signs in for itself, with its client id and secret; the secret is asked for without being shown, read from a file, or taken from SWITCHYARD_CLI_CLIENT_SECRET. People sign in by the application switchyard-cli, unless --client-id names another one.',
    )
    .option('--url <address>', 'the platform')
    .option('--auth-url <address>', 'the authorization server, where it has an address of its own')
    .option('--user-domain <id>', 'the user domain (realm)')
    .option('--client-id <id>', 'the application')
    .option('--client-secret-file <file>', 'the file with its secret; it is read each time')
    .option('--ca-file <file>', 'the certificate authority of the platform, as PEM')
    .addOption(
      new Option('--demo [folder]', 'an application of the demo environment').conflicts([
        'url',
        'web',
      ]),
    )
    .option('--application <name>', 'which application of the demo environment', 'acquirer')
    .option('--web', 'as a person, with the browser')
    .addOption(
      new Option('--username <name>', 'as a person, with a password and a one-time code').conflicts(
        ['web', 'demo'],
      ),
    )
    .option(
      '--redirect-uri <address>',
      'where the browser comes back to',
      'http://localhost:8976/callback',
    )
    .option('--as <profile>', 'the name of the profile')
    .addHelpText(
      'after',
      `
Examples:
  $ switchyard login --demo
  $ switchyard login --url https://pay.example --user-domain northgate --client-id estate
  $ switchyard login --web --url https://pay.example --user-domain northgate --as me`,
    )
    .action(act<LoginOptions>((kit, _args, options) => login(kit, options)));
}

async function logout({ world, screen, globals }: Kit): Promise<undefined> {
  const profiles = openProfiles(world);
  const name = globals.profile ?? profiles.current();
  const profile = name === undefined ? undefined : profiles.find(name);
  if (name === undefined || profile === undefined)
    return fail('notFound', 'There is no such profile.');
  openTokenStore(world, profile).forget();
  profiles.remove(name);
  screen.result({ removed: name }, () => `Profile ${name} is gone, and its tokens with it.\n`);
  return undefined;
}

function addProfiles(program: Command, { act }: Runner): void {
  const profiles = program
    .command('profiles')
    .summary('list and choose profiles')
    .description('Lists and chooses profiles.');
  profiles
    .command('list')
    .description('Lists the profiles; the current one has a star.')
    .action(
      act(async ({ world, screen }) => {
        const book = openProfiles(world);
        const current = book.current();
        const items = book.names().map((name) => {
          const { url, userDomainId, clientId } = book.find(name) as Profile;
          return { name, current: name === current, url, userDomainId, clientId };
        });
        screen.result({ items }, () =>
          screen.table(
            [
              { title: '', of: (row) => (row.current ? '*' : ' ') },
              { title: 'PROFILE', of: (row) => row.name },
              { title: 'URL', of: (row) => row.url },
              { title: 'USER DOMAIN', of: (row) => row.userDomainId },
              { title: 'CLIENT', of: (row) => row.clientId },
            ],
            items,
          ),
        );
        return undefined;
      }),
    );
  profiles
    .command('use <name>')
    .description('Makes a profile the current one.')
    .action(
      act(async ({ world, screen }, [name = '']) => {
        const book = openProfiles(world);
        if (book.find(name) === undefined) fail('notFound', `There is no profile “${name}”.`);
        book.use(name);
        screen.result({ current: name }, () => `Profile ${name} is the current one.\n`);
        return undefined;
      }),
    );
}

export function addLoginCommands(program: Command, runner: Runner): void {
  const { act } = runner;
  addLogin(program, runner);
  program
    .command('logout')
    .summary('forget the profile and its tokens')
    .description('Forgets the profile and its tokens.')
    .action(act((kit) => logout(kit)));
  program
    .command('whoami')
    .summary('tell who is signed in')
    .description('Tells who is signed in, where, and what he may do.')
    .action(
      act(async (kit) => {
        const who = await identityOf(kit.session());
        kit.screen.result(who, () => kit.screen.members(who));
        return undefined;
      }),
    );
  addProfiles(program, runner);
  program
    .command('token')
    .summary('the access token')
    .description('The access token, for other programs.')
    .command('print')
    .description('Prints the access token: whoever has it can do what you can.')
    .action(
      act(async ({ session, screen }) => {
        const token = await session().token();
        screen.result({ token }, () => `${token}\n`);
        return undefined;
      }),
    );
}
