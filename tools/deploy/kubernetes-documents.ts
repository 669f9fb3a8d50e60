// The Kubernetes objects in `deploy/kubernetes`, with the types that kubernetes-types generates from the OpenAPI document.
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { ConfigMap, Service, ServiceAccount } from 'kubernetes-types/core/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';

export type KubernetesDocuments = {
  readonly ConfigMap: ConfigMap;
  readonly Deployment: Deployment;
  readonly HorizontalPodAutoscaler: HorizontalPodAutoscaler;
  readonly Ingress: Ingress;
  readonly Job: Job;
  readonly NetworkPolicy: NetworkPolicy;
  readonly PodDisruptionBudget: PodDisruptionBudget;
  readonly Service: Service;
  readonly ServiceAccount: ServiceAccount;
};

/** A patch of Kustomize (strategic merge): every member can be absent. */
export type Patch<Value> = Value extends readonly (infer Item)[]
  ? Patch<Item>[]
  : Value extends object
    ? { [Key in keyof Value]?: Patch<Value[Key]> }
    : Value;
