// The door of http: what the composition and the rooms may use.
export type { Caller, Presented, VerifyToken } from './caller.ts';
export type { ListenerTls } from './listener.ts';
export {
  type Access,
  type Priority,
  type Route,
  type RouteFacts,
  type RouteRequest,
  route,
} from './routes.ts';
export { createHttp, type Http, type HttpDeps, type HttpSettings } from './server.ts';
