"""A process that has loaded the models, and starts services that are killed: forked, so that each is there at once.

It reads the folder of an index from each line of stdin, and tells the address and the process of a service over it.
"""

from __future__ import annotations

import json
import os
import sys

import torch
from served import KEY

from excise.encoders.backbone import load_backbone
from excise.engines import LocalEngine
from excise.search.operator import load
from excise.service.api_keys import ApiKeys
from excise.service.front_door import Admission
from excise.service.server import listen, run, web_address
from excise.service.web_app import ServicePlan, build_service
from excise.topics.detector import load_detector


def main() -> None:
    torch.set_num_threads(1)  # threads do not survive a fork
    encoder = load_backbone("minilm")
    load_detector()
    for line in sys.stdin:
        folder = line.rstrip("\n")
        listening = listen("127.0.0.1", 0)
        child = os.fork()
        if child == 0:
            operator = load(engine=LocalEngine.create(folder, encoder.info), backbone=encoder)
            service = build_service(operator, ServicePlan(Admission(ApiKeys([KEY]))))
            run(service, listening)
            os._exit(0)
        sys.stdout.write(json.dumps({"url": web_address(listening), "process": child}) + "\n")
        sys.stdout.flush()
        listening.close()
        _, status = os.waitpid(child, 0)
        sys.stdout.write(json.dumps({"ended": os.waitstatus_to_exitcode(status)}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
