-- Sign-ups that came to nothing are forgotten: those of before get the job that later ones are written with.

INSERT INTO jobs (organization_id, job_id, kind, payload, due_at, created_at)
  SELECT organization_id, gen_random_uuid(), 'onboarding.forget', '{}', updated_at + interval '90 days', now()
  FROM sign_ups WHERE status IN ('Pending', 'Rejected');
