// The `switchyard` command as somebody runs it: the real bin as a process of its own, over real TLS.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Scene } from './scene.ts';
import { fromOutside } from './server-process.ts';

const bin = fileURLToPath(new URL('../../cli/bin/switchyard.cjs', import.meta.url));
const endsWithinMs = 60_000;

export type Ended = {
  code: number | null;
  stdout: string;
  stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of many shapes
  json(): any;
};

export type RunOptions = {
  env?: Record<string, string>;
  stdin?: string;
  /** Called at once, for who wants to end it early. */
  started?: (child: ChildProcess) => void;
};

export type CommandLine = {
  /** A folder of its own: the configuration lies in `home`. */
  folder: string;
  env: Record<string, string>;
  run(args: string[], options?: RunOptions): Promise<Ended>;
  file(name: string, text: string): string;
  remove(): void;
};

export function runCommand(
  args: string[],
  env: Record<string, string>,
  cwd: string,
  options: RunOptions = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd,
      env: { ...fromOutside(), ...env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: endsWithinMs,
    });
    const said: { stdout: string; stderr: string } = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8');
      child[name].on('data', (text: string) => {
        said[name] += text;
      });
    }
    options.started?.(child);
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({
        ...said,
        code,
        json: () => JSON.parse(said.stdout === '' ? said.stderr : said.stdout),
      }),
    );
    child.stdin.on('error', () => {});
    child.stdin.end(options.stdin ?? '');
  });
}

/** Without any sign-in. */
export function openCommandLine(env: Record<string, string> = {}): CommandLine {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-cli-'));
  const all = { SWITCHYARD_CLI_HOME: join(folder, 'home'), ...env };
  return {
    folder,
    env: all,
    run: (args, options) => runCommand(args, all, folder, options),
    file(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Signed in by variables as an application of the scene's organisation, or of one merchant. */
export async function commandLineOf(
  on: Scene,
  role = 'AcquirerAdministrator',
  merchantId?: string,
): Promise<CommandLine & { clientId: string; clientSecret: string }> {
  const { clientId, clientSecret } = await on.house.identity.createApplication({
    organizationId: on.organizationId,
    userDomainId: on.realm,
    name: 'command line',
    entityType: merchantId === undefined ? 'tenant' : 'merchant',
    entityId: merchantId ?? on.organizationId,
    merchantId,
    roles: [role],
    securityFlows: ['ClientCredentials'],
  });
  const line = openCommandLine();
  const env = {
    ...line.env,
    SWITCHYARD_CLI_URL: on.settings.baseUrl,
    SWITCHYARD_CLI_USER_DOMAIN: on.realm,
    SWITCHYARD_CLI_CLIENT_ID: clientId,
    SWITCHYARD_CLI_CLIENT_SECRET: clientSecret,
    SWITCHYARD_CLI_CA_FILE: line.file('ca.pem', on.ca),
  };
  return {
    ...line,
    env,
    clientId,
    clientSecret,
    run: (args, options) => runCommand(args, env, line.folder, options),
  };
}
