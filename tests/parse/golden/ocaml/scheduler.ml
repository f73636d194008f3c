(* A small scheduler of jobs: a queue by priority, and workers that run what is due. *)

open Printf
open! Base.Poly
include Scheduler_intf

module Names = Map.Make (String)
module Log = Logs.Make (struct
  let prefix = "scheduler"
end)

(** How a job ended. *)
type outcome =
  | Finished
  | Failed of exn
  | Cancelled of { by : string }
[@@deriving show]

(** A piece of work. *)
type 'a job = {
  name : string;
  priority : int;
  mutable tries : int;
  run : unit -> 'a;
}

and queue = {
  jobs : unit job list;
  limit : int;
}

type t = queue
type id = string

exception Full of string

let default_limit = 100
let now : unit -> float = Unix.gettimeofday

external monotonic : unit -> int64 = "scheduler_monotonic"

(** An empty queue. *)
let create ?(limit = default_limit) () : queue = { jobs = []; limit }

(* Jobs of the same priority keep their order. *)
let rec insert job = function
  | [] -> [ job ]
  | first :: rest when first.priority >= job.priority -> first :: insert job rest
  | jobs -> job :: jobs

let add queue job =
  let waiting = List.length queue.jobs in
  let is_full n = n >= queue.limit in
  if is_full waiting then raise (Full job.name);
  { queue with jobs = insert job queue.jobs }

let ( <+ ) queue job = add queue job

(** Runs a job until it succeeds or its tries are spent. *)
let rec attempt (job : 'a job) : outcome =
  job.tries <- job.tries + 1;
  match job.run () with
  | _ -> Finished
  | exception error when job.tries < 3 ->
    Log.warn (fun m -> m "%s failed: %s" job.name (Printexc.to_string error));
    attempt job
  | exception error -> Failed error

and attempt_all jobs = List.map attempt jobs

let summary outcomes =
  outcomes
  |> List.map show_outcome
  |> String.concat ", "

let report = fun outcomes -> printf "%s\n" @@ summary outcomes

module type STORE = sig
  type key

  val find : key -> id option
  val size : int
end

module Memory : STORE with type key = string = struct
  type key = string

  let table : (key, id) Hashtbl.t = Hashtbl.create 16
  let find key = Hashtbl.find_opt table key
  let size = 16

  module Private = struct
    let clear () = Hashtbl.reset table
  end
end

module Cached (Store : STORE) = struct
  let hits = ref 0

  let find key =
    incr hits;
    Store.find key
end

class virtual worker name =
  object (self)
    val mutable busy = false
    method name : string = name
    method virtual work : t -> outcome list

    method step queue =
      busy <- true;
      let outcomes = self#work queue in
      busy <- false;
      outcomes
  end

class eager name =
  object
    inherit worker name as super
    method work queue = attempt_all queue.jobs
    method! step queue = super#step (create ~limit:queue.limit ())
  end

let low, high = 1, 10

let () =
  let queue = create () <+ { name = "hello"; priority = low; tries = 0; run = ignore } in
  let worker = new eager "first" in
  report (worker#step queue);
  Memory.Private.clear ()
