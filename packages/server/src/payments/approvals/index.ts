// The door of the approvals: codes of supervisors, and what they approve.
export {
  type Approval,
  type Approvals,
  type Approve,
  type Approved,
  CodeTaken,
  createApprovals,
} from './approval.ts';
export { createCodes } from './codes.ts';
export { registerApprovalCodes } from './routes.ts';
export { createApprovalStore } from './store.ts';
