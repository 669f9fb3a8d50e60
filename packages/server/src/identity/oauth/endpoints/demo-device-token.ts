// Issues a token of a merchant's device to a user of that merchant, without the device; demo only.
import { errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { decodeJwt } from 'jose';
import { acceptFormBodies, type Caller } from '../../../http/index.ts';
import type { Clock } from '../../../platform/index.ts';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import type { Applications } from '../../clients/applications.ts';
import { defaultDeviceScope } from '../../devices/device-tokens.ts';
import type { FindDevice, FoundDevice } from '../../devices/types.ts';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import {
  type DeviceMethod,
  deviceSignInMethods,
  type SignInDevice,
} from '../../tokens/authentication-claims.ts';
import type { NewSignIn, UserTokenIssuer } from '../../tokens/issue-user-tokens.ts';
import type { TokenFamilies } from '../../tokens/refresh-token-families.ts';
import type { TokenFamily } from '../../tokens/refresh-token-family-sql.ts';
import { demoDeviceTokenEndpoint } from './endpoint-descriptions.ts';
import { handleOauthError, sendOauthError } from './oauth-routes.ts';

const bearerPattern = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;
const maxModelLength = 64;

export type DemoDeviceTokenDeps = {
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  verifyToken(token: string): Promise<Caller>;
  findApplication: Applications['find'];
  findUser(organizationId: string, userId: string): Promise<User | undefined>;
  findDevice: FindDevice;
  families: Pick<TokenFamilies, 'find'>;
  userTokens: Pick<UserTokenIssuer, 'issue'>;
  limits: OAuthEndpointLimits;
  clock: Clock;
};

/** The requesting user of a merchant, and the sign-in. */
type MerchantSignIn = {
  readonly realm: Realm;
  readonly application: Application;
  readonly user: User;
  readonly signIn: TokenFamily;
  /** The scope of the token, which may be narrower than that of the sign-in. */
  readonly scope: string;
  /** Epoch milliseconds, before the token was checked. */
  readonly requestedAt: number;
};
type Form = Readonly<Record<string, string>>;
type CustomTokenRequest = FastifyRequest<{ Params: { realm: string }; Body: Form | undefined }>;

/** An error in the form of RFC 6749, with a challenge of RFC 6750 for token errors. */
class DemoTokenError extends Error {
  override name = 'Refused';
  readonly status: number;
  readonly error: string;
  constructor(status: number, error: string, description: string) {
    super(description);
    this.status = status;
    this.error = error;
  }
}

const invalidToken = () =>
  new DemoTokenError(401, 'invalid_token', 'the access token is not valid');
const notMerchant = () =>
  new DemoTokenError(403, 'insufficient_scope', 'only a user of a merchant can get a device token');
const unknownDevice = () =>
  new DemoTokenError(400, 'invalid_grant', 'the merchant has no active device of this name');

function sendError(reply: FastifyReply, { status, error, message }: DemoTokenError): FastifyReply {
  if (status === 401 || status === 403) {
    reply.header('WWW-Authenticate', `Bearer error="${error}", error_description="${message}"`);
  }
  return sendOauthError(reply, status, error, message);
}

function parseMethods(text: string): readonly DeviceMethod[] {
  const names = new Set(text.split(/[\s,]+/).filter((method) => method !== ''));
  const methods = deviceSignInMethods.filter((method) => names.has(method));
  if (methods.length === 0 || methods.length !== names.size) {
    throw new DemoTokenError(
      400,
      'invalid_request',
      `method must be a list of ${deviceSignInMethods.join(', ')}`,
    );
  }
  return methods;
}

function readForm(form: Form) {
  const { device_id: deviceId = '', device_model: model = '', method } = form;
  if (deviceId === '') throw new DemoTokenError(400, 'invalid_request', 'device_id is missing');
  if (model.length > maxModelLength) {
    throw new DemoTokenError(400, 'invalid_request', 'device_model is too long');
  }
  return { deviceId, methods: parseMethods(method ?? 'api') };
}

/** Always grants `auth`; other scopes only if the token of the user has them. */
function limitScope(userScope: string): string {
  const all = new Set(userScope.split(' '));
  return defaultDeviceScope
    .split(' ')
    .filter((name) => name === 'auth' || all.has(name))
    .join(' ');
}

export function createDemoDeviceTokenIssuer(deps: DemoDeviceTokenDeps) {
  const { findRealm, verifyToken, findApplication, findUser, findDevice, families } = deps;

  async function findCaller(token: string): Promise<Caller> {
    try {
      return await verifyToken(token);
    } catch (error) {
      // An unavailable database does not make the token invalid.
      if (error instanceof ProblemError && errorCodes[error.code].status === 401)
        throw invalidToken();
      throw error;
    }
  }

  /** @throws DemoTokenError unless the token belongs to a sign-in of a merchant's user */
  async function findMerchantSignIn(request: CustomTokenRequest): Promise<MerchantSignIn> {
    const requestedAt = deps.clock.now();
    const realm = await findRealm(request.params.realm);
    if (realm === undefined)
      throw new DemoTokenError(404, 'invalid_request', 'unknown user domain');
    const token = bearerPattern.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw invalidToken();
    const caller = await findCaller(token);
    if (caller.realm !== realm.userDomainId) throw invalidToken();
    const { organizationId } = realm;
    // A device token must not give access to other devices.
    if (caller.deviceId !== undefined) throw notMerchant();
    const user = await findUser(organizationId, caller.subject);
    if (user?.entityType !== 'merchant') throw notMerchant();
    const { sid, scope = '' } = decodeJwt<{ sid?: string; scope?: string }>(token);
    const signIn = sid === undefined ? undefined : await families.find(organizationId, sid);
    const application = await findApplication(organizationId, caller.clientId);
    if (signIn === undefined || application === undefined) throw invalidToken();
    return { realm, user, signIn, application, scope, requestedAt };
  }

  /**
   * The same error for an unknown device, another merchant's device, and a device outside the
   * application's store.
   */
  async function requireDevice({ realm, user, application }: MerchantSignIn, name: string) {
    const device: FoundDevice | undefined = await findDevice(
      realm.organizationId,
      user.entityId,
      name,
    );
    if (device === undefined) throw unknownDevice();
    if ((application.storeId ?? device.storeId) !== device.storeId) throw unknownDevice();
    return device;
  }

  return {
    merchantOf: findMerchantSignIn,

    async issue(merchant: MerchantSignIn, form: Form) {
      const { deviceId, methods } = readForm(form);
      const device = await requireDevice(merchant, deviceId);
      const { realm, application, user, signIn } = merchant;
      const signInDevice: SignInDevice = {
        type: 'PublicDevice',
        id: deviceId,
        methods,
        deviceId: device.logicalDeviceId,
        storeId: device.storeId,
      };
      const newSignIn: NewSignIn = {
        kind: 'CustomToken',
        application,
        user,
        scope: limitScope(merchant.scope),
        methods: signIn.context.methods,
        authenticatedAt: signIn.context.authenticatedAt,
        expiresAtLatest: signIn.endsAt,
        device: signInDevice,
      };
      const answer = await deps.userTokens.issue(realm, newSignIn, merchant.requestedAt);
      if (answer === undefined) throw invalidToken();
      return answer;
    },
  };
}

/** A separate Fastify scope, which reads forms and answers errors in the form of RFC 6749. */
export async function registerDemoDeviceToken(
  app: FastifyInstance,
  deps: DemoDeviceTokenDeps,
): Promise<void> {
  const issuer = createDemoDeviceTokenIssuer(deps);
  const signIns = new WeakMap<FastifyRequest, MerchantSignIn>();
  await app.register((scope, _options, done) => {
    acceptFormBodies(scope);
    scope.setErrorHandler((error, request, reply) =>
      error instanceof DemoTokenError
        ? sendError(reply, error)
        : handleOauthError(error, request, reply),
    );
    const url = '/auth/realms/:realm/custom-token';
    scope.post<{ Params: { realm: string }; Body: Form | undefined }>(
      url,
      {
        config: { describedRoutes: { ...demoDeviceTokenEndpoint, url } },
        // The caller is checked before the body is read.
        onRequest: async (request, reply) => {
          const wait = deps.limits.checkAddress(request.ip);
          if (wait !== undefined) {
            reply.header('Retry-After', String(wait));
            throw new DemoTokenError(429, 'temporarily_unavailable', 'too many requests');
          }
          signIns.set(request, await issuer.merchantOf(request));
        },
      },
      async (request, reply) => {
        const merchant = signIns.get(request);
        if (merchant === undefined) throw new Error('the onRequest hook did not run');
        const answer = await issuer.issue(merchant, request.body ?? {});
        return reply.header('Cache-Control', 'no-store').header('Pragma', 'no-cache').send(answer);
      },
    );
    done();
  });
}
