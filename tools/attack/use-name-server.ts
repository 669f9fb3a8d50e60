// Loaded by the attacked process before the platform: its lookups go to the name server of the attack.

import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

const { Resolver } = dns;
const { ATTACK_NAME_SERVER: address = '' } = process.env;

/** Called with `new`, it returns a resolver of Node that asks the other server. */
function AttackedResolver(options?: ConstructorParameters<typeof Resolver>[0]) {
  const resolver = new Resolver(options);
  resolver.setServers([address]);
  return resolver;
}

if (address !== '') {
  Object.assign(dns, { Resolver: AttackedResolver });
  syncBuiltinESMExports();
}
