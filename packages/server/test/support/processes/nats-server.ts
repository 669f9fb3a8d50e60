// Runs the installed NATS server as a process that a test can kill.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '../wait-for-condition.ts';

export const natsUser = 'switchyard';
export const natsPassword = 'between-nodes';

export type NatsServer = { start(): Promise<void>; kill(): Promise<void> };

export function createNatsServer(port: number): NatsServer {
  let child: ChildProcess | undefined;
  const isAnswering = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('data', () => resolve(true)).once('error', () => resolve(false));
      socket.once('data', () => socket.destroy());
    });
  return {
    async start() {
      const args = ['-a', '127.0.0.1', '-p', String(port), '--user', natsUser];
      const started = spawn('nats-server', [...args, '--pass', natsPassword], { stdio: 'ignore' });
      child = started;
      await once(started, 'spawn');
      await eventually('nats-server', isAnswering);
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
